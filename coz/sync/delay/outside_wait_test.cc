// Waits that the outside ends: their part in an experiment, their delay, and their samples.
#include "coz/sync/delay/outside_wait.h"

#include <gtest/gtest.h>

#include "coz/sync/delay/delay_ledger.h"

namespace coz::delay {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(OutsideWaitTest, CountsItsPartInTheExperiment) {
  const OutsideWait wait = {WaitKind::kSleep, 100 * kMs, 110 * kMs, 9 * kMs};
  EXPECT_EQ(BlockedSince(wait, 0), 9 * kMs);
  EXPECT_EQ(BlockedSince(wait, 100 * kMs), 9 * kMs);
  EXPECT_EQ(BlockedSince(wait, 107 * kMs), 3 * kMs);
  EXPECT_EQ(BlockedSince(wait, 110 * kMs), 0u);
  EXPECT_EQ(BlockedSince(wait, 120 * kMs), 0u);
}

TEST(OutsideWaitTest, DelayIsTheShareOfItsLength) {
  EXPECT_EQ(DelayOfWait(8 * kMs, kMs / 4, kMs), 2 * kMs);
  EXPECT_EQ(DelayOfWait(8 * kMs, 0, kMs), 0u);
  // A minute, all of it, at a period of a second.
  EXPECT_EQ(DelayOfWait(60'000 * kMs, 1000 * kMs, 1000 * kMs), 60'000 * kMs);
  EXPECT_EQ(DelayOfWait(8 * kMs, kMs, 0), 0u);
}

TEST(OutsideWaitTest, CountsForItsLengthOnAverage) {
  constexpr uint64_t kPeriodNs = 1000;
  constexpr uint64_t kBlockedNs = 2300;
  uint64_t samples = 0;
  for (uint64_t draw = 0; draw < kPeriodNs; ++draw) {
    samples += SamplesOfWait(kBlockedNs, kPeriodNs, draw);
  }
  EXPECT_EQ(samples * kPeriodNs, kBlockedNs * kPeriodNs);
}

TEST(OutsideWaitTest, ShortWaitsImposeTogetherWithinOneExperiment) {
  WaitDelay delay = {};
  EXPECT_EQ(delay.Add(1, 4000, 10'000), 0u);
  EXPECT_EQ(delay.Add(1, 7000, 10'000), 11'000u);
  EXPECT_EQ(delay.Add(1, 9000, 10'000), 0u);
  EXPECT_EQ(delay.Add(2, 9000, 10'000), 0u);
  EXPECT_EQ(delay.Add(2, 1000, 10'000), 10'000u);
}

// Two threads wait for the outside at the same time. Both get ahead, so neither has to pause.
TEST(OutsideWaitTest, WaitsBesideEachOtherCancel) {
  static GlobalLedger global;
  static ThreadLedger one;
  static ThreadLedger two;
  ImposeDelay(global, one, DelayOfWait(10 * kMs, kMs / 2, kMs));
  EXPECT_EQ(OwedDelay(global, two), 5 * kMs);
  ImposeDelay(global, two, DelayOfWait(10 * kMs, kMs / 2, kMs));
  EXPECT_EQ(global.global_delay_ns, 5 * kMs);
  EXPECT_EQ(OwedDelay(global, one), 0u);
  EXPECT_EQ(OwedDelay(global, two), 0u);
}

}  // namespace
}  // namespace coz::delay
