#include "coz/supervisor/target/unit_samples.h"

#include <memory>

#include "coz/base/random.h"
#include "coz/shared/wait_samples.h"
#include "coz/sync/delay/outside_wait.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using delay::WaitKind;
using shared::UnitWithWaitKind;
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

// They are counted by their call, which may have waits of the outside too, and make no unit.
TEST(UnitSamplesTest, WaitsThatTheOutsideHasNotEndedAreApart) {
  const auto ring = std::make_unique<shared::SampleRing>();
  UnitSamples samples(ring.get(), true);
  samples.SetUnits([](experiment::UnitId unit) { return unit < 3; });
  shared::PushSample(*ring, UnitWithWaitKind(1, WaitKind::kSleep), 2);
  shared::PushSample(*ring, UnitWithWaitKind(1, WaitKind::kNone), 30);
  shared::PushSample(*ring, UnitWithWaitKind(2, WaitKind::kNone), 5);
  shared::PushSample(*ring, UnitWithWaitKind(2, WaitKind::kNone), 6);
  shared::PushSample(*ring, UnitWithWaitKind(3, WaitKind::kNone), 1);
  samples.Drain(1);
  EXPECT_THAT(samples.total(), UnorderedElementsAre(Pair(1, 2)));
  EXPECT_THAT(samples.TakeNew(), UnorderedElementsAre(Pair(1, 2)));
  EXPECT_THAT(samples.own_waits(), UnorderedElementsAre(Pair(1, 30), Pair(2, 11)));
  EXPECT_EQ(samples.WaitKindOf(1), WaitKind::kSleep);
  EXPECT_EQ(samples.WaitKindOf(2), std::nullopt);
  EXPECT_EQ(samples.lost(), 1u);
  Random random(1, 2);
  for (int i = 0; i < 10; ++i) {
    shared::PushSample(*ring, UnitWithWaitKind(1, WaitKind::kSleep), 1);
    shared::PushSample(*ring, UnitWithWaitKind(2, WaitKind::kNone), 100);
    samples.Drain(1);
    EXPECT_EQ(samples.Draw(random), 1u);
  }
}

TEST(UnitSamplesTest, NoSampleOfCpuTimeIsOfAWait) {
  const auto ring = std::make_unique<shared::SampleRing>();
  UnitSamples samples(ring.get());
  const uint32_t unit = UnitWithWaitKind(1, WaitKind::kNone);
  shared::PushSample(*ring, unit, 2);
  samples.Drain(1);
  EXPECT_THAT(samples.total(), UnorderedElementsAre(Pair(unit, 2)));
  EXPECT_TRUE(samples.own_waits().empty());
}

}  // namespace
}  // namespace coz::supervisor
