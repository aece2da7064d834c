#include "coz/base/sampling_period.h"

#include <algorithm>
#include <vector>

#include "coz/base/random.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

constexpr int kTenths = 10;

// How many of the seeds' periods are in each tenth of the range.
std::vector<int> CountTenths(const std::vector<uint64_t>& seeds) {
  std::vector<int> counts(kTenths);
  for (const uint64_t seed : seeds) {
    const uint64_t ns = DefaultSamplingPeriodNs(seed);
    EXPECT_GE(ns, kLeastDefaultPeriodNs);
    EXPECT_LT(ns, kMostDefaultPeriodNs);
    EXPECT_EQ(ns % 1000, 0u);
    ++counts[(ns - kLeastDefaultPeriodNs) * kTenths /
             (kMostDefaultPeriodNs - kLeastDefaultPeriodNs)];
  }
  return counts;
}

TEST(SamplingPeriodTest, IsAnyPartOfItsRange) {
  Random random(1);
  std::vector<uint64_t> seeds(3000);
  for (uint64_t& seed : seeds) seed = random.Next();
  for (const int count : CountTenths(seeds)) EXPECT_NEAR(count, 300, 75);
}

// Runs of a series have seeds in turn. No two of three keep step with the same rounds.
TEST(SamplingPeriodTest, OfSeedsInTurnAreFarApart) {
  constexpr uint64_t kFarApartNs = (kMostDefaultPeriodNs - kLeastDefaultPeriodNs) / 5;
  Random random(2);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t seed = random.Next();
    std::vector<uint64_t> periods_ns;
    for (uint64_t run = 0; run < 3; ++run) {
      periods_ns.push_back(DefaultSamplingPeriodNs(seed + run));
    }
    std::sort(periods_ns.begin(), periods_ns.end());
    EXPECT_GT(periods_ns[1] - periods_ns[0], kFarApartNs);
    EXPECT_GT(periods_ns[2] - periods_ns[1], kFarApartNs);
  }
  std::vector<uint64_t> in_turn;
  for (uint64_t seed = 1; seed <= 50; ++seed) in_turn.push_back(seed);
  for (const int count : CountTenths(in_turn)) EXPECT_NEAR(count, 5, 1);
}

}  // namespace
}  // namespace coz
