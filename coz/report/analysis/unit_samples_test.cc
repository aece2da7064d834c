#include "coz/report/analysis/unit_samples.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

using Counts = std::vector<std::pair<size_t, uint64_t>>;

Counts All(const UnitSamples& samples) {
  Counts all;
  samples.ForEach([&](size_t unit, uint64_t count) { all.emplace_back(unit, count); });
  return all;
}

TEST(UnitSamplesTest, NoneAreNone) {
  EXPECT_TRUE(UnitSamples().empty());
  EXPECT_TRUE(UnitSamples(Counts()).empty());
  EXPECT_EQ(UnitSamples().Of(0), 0u);
  EXPECT_THAT(All(UnitSamples()), ElementsAre());
}

TEST(UnitSamplesTest, AreSortedAndAddedUp) {
  const UnitSamples samples({{300, 1}, {0, 127}, {7, 2}, {300, 128}, {1, 0}});
  EXPECT_FALSE(samples.empty());
  EXPECT_THAT(All(samples), ElementsAre(Pair(0, 127), Pair(1, 0), Pair(7, 2), Pair(300, 129)));
  EXPECT_EQ(samples.Of(0), 127u);
  EXPECT_EQ(samples.Of(7), 2u);
  EXPECT_EQ(samples.Of(300), 129u);
  for (size_t unit : {2u, 6u, 8u, 299u, 301u}) EXPECT_EQ(samples.Of(unit), 0u) << unit;
}

TEST(UnitSamplesTest, HoldTheLargestCounts) {
  const UnitSamples samples({{5'000'000'000, UINT64_MAX}, {2, 1}});
  EXPECT_EQ(samples.Of(5'000'000'000), UINT64_MAX);
  EXPECT_EQ(samples.Of(2), 1u);
}

}  // namespace
}  // namespace coz::report
