#include "coz/supervisor/target/unit_samples.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(UnitSamplesTest, SamplesOfNoUnitAreLost) {
  const auto ring = std::make_unique<shared::SampleRing>();
  UnitSamples samples(ring.get());
  samples.SetUnits([](experiment::UnitId unit) { return unit < 3; });
  for (uint32_t unit = 0; unit < 10000; ++unit) shared::PushSample(*ring, unit, 2);
  samples.Drain(1);
  EXPECT_THAT(samples.total(), UnorderedElementsAre(Pair(0, 2), Pair(1, 2), Pair(2, 2)));
  EXPECT_EQ(samples.lost(), 9997u);
}

}  // namespace
}  // namespace coz::supervisor
