#include "coz/sampler/period_tracker.h"

#include <gtest/gtest.h>

namespace coz::sampler {
namespace {

constexpr uint64_t kPeriodNs = 1'000'000;

TEST(PeriodTrackerTest, RegularSamplesStandForOnePeriodEach) {
  PeriodTracker tracker;
  for (uint64_t k = 1; k <= 1000; ++k) {
    EXPECT_EQ(tracker.Advance(k * kPeriodNs + k % 3 * 900, kPeriodNs), 1u);
  }
}

TEST(PeriodTrackerTest, LongSystemCallStandsForThePeriodsThatEndedInIt) {
  PeriodTracker tracker;
  EXPECT_EQ(tracker.Advance(kPeriodNs, kPeriodNs), 1u);
  // Overflows at 2, 3 … 18 periods, and one signal when the call returns at 18.7.
  EXPECT_EQ(tracker.Advance(187 * kPeriodNs / 10, kPeriodNs), 17u);
  // The next overflow comes 0.3 periods later.
  EXPECT_EQ(tracker.Advance(19 * kPeriodNs, kPeriodNs), 1u);
  EXPECT_EQ(tracker.Advance(20 * kPeriodNs, kPeriodNs), 1u);
}

TEST(PeriodTrackerTest, ClockThatGoesBackEndsNoPeriod) {
  PeriodTracker tracker;
  EXPECT_EQ(tracker.Advance(1000 * kPeriodNs, kPeriodNs), 1000u);
  EXPECT_EQ(tracker.Advance(kPeriodNs, kPeriodNs), 0u);
  EXPECT_EQ(tracker.Advance(2 * kPeriodNs, kPeriodNs), 1u);
}

TEST(PeriodTrackerTest, AForgottenThreadsClockStartsAtZero) {
  PeriodTracker tracker;
  EXPECT_EQ(tracker.Advance(1000 * kPeriodNs, kPeriodNs), 1000u);
  tracker.LeaveOut(kPeriodNs);
  tracker.Forget();
  EXPECT_EQ(tracker.Advance(2 * kPeriodNs, kPeriodNs), 2u);
  EXPECT_EQ(tracker.TakeLeftOut(2, kPeriodNs), 0u);
}

TEST(PeriodTrackerTest, SumOfWeightsIsCpuTimeDividedByPeriod) {
  PeriodTracker tracker;
  uint64_t now_ns = 0;
  uint64_t sum = 0;
  for (uint64_t k = 0; k < 10000; ++k) {
    now_ns += kPeriodNs + k * 7919 % (3 * kPeriodNs);
    sum += tracker.Advance(now_ns, kPeriodNs);
  }
  EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(now_ns) / kPeriodNs, 2);
}

// The CPU clock leaves time out: interrupts, on some kernels.
TEST(PeriodTrackerTest, ClockThatRunsSlowDoesNotSwallowALaterSystemCall) {
  PeriodTracker tracker;
  uint64_t now_ns = 0;
  uint64_t sum = 0;
  for (int k = 0; k < 10000; ++k) {
    now_ns += kPeriodNs * 95 / 100;
    const uint64_t ended = tracker.Advance(now_ns, kPeriodNs);
    EXPECT_LE(ended, 1u);
    sum += ended;
  }
  EXPECT_NEAR(static_cast<double>(sum), 9500, 1);
  EXPECT_GE(tracker.Advance(now_ns + 10 * kPeriodNs, kPeriodNs), 9u);
}

// Two threads take turns on a CPU, and the kernel swaps their events at some of the turns.
TEST(PeriodTrackerTest, SamplesOfSwappedEventsAddUpToTheCpuTime) {
  constexpr uint64_t kTurnsNs[] = {3 * kPeriodNs / 10, 8 * kPeriodNs / 10};
  PeriodTracker trackers[2];
  uint64_t cpu_ns[2] = {};
  uint64_t weight[2] = {};
  uint64_t left_ns[2] = {kPeriodNs, kPeriodNs};  // of the period of each event
  for (int turn = 0; turn < 20000; ++turn) {
    const int thread = turn % 2;
    const int event = turn / 3 % 2;
    uint64_t length_ns = kTurnsNs[thread];
    while (length_ns >= left_ns[event]) {
      cpu_ns[thread] += left_ns[event];
      length_ns -= left_ns[event];
      left_ns[event] = kPeriodNs;
      weight[thread] += trackers[thread].Advance(cpu_ns[thread], kPeriodNs);
    }
    left_ns[event] -= length_ns;
    cpu_ns[thread] += length_ns;
  }
  for (int thread : {0, 1}) {
    EXPECT_NEAR(static_cast<double>(weight[thread]),
                static_cast<double>(cpu_ns[thread]) / kPeriodNs, 3);
  }
}

TEST(PeriodTrackerTest, EarlySampleOfAClockOfTheCpuStandsForAPeriod) {
  PeriodTracker tracker;
  EXPECT_EQ(tracker.AdvanceByCpuClock(kPeriodNs, kPeriodNs, false), 1u);
  // The thread has moved to a CPU whose clock was about to expire.
  EXPECT_EQ(tracker.AdvanceByCpuClock(kPeriodNs + 100, kPeriodNs, false), 1u);
  EXPECT_EQ(tracker.AdvanceByCpuClock(2 * kPeriodNs + 100, kPeriodNs, false), 1u);
  EXPECT_EQ(tracker.AdvanceByCpuClock(5 * kPeriodNs + 100, kPeriodNs, false), 3u);
}

TEST(PeriodTrackerTest, WhatIsLeftOutWeighsNothing) {
  PeriodTracker tracker;
  uint64_t sum = 0;
  for (uint64_t k = 1; k <= 10000; ++k) {
    // A sixth of each period is not the thread's own, and now and then four whole ones.
    tracker.LeaveOut(kPeriodNs / 6 + (k % 100 == 0 ? 4 * kPeriodNs : 0));
    const uint64_t ended = tracker.Advance(k * kPeriodNs, kPeriodNs);
    const uint64_t taken = tracker.TakeLeftOut(ended, kPeriodNs);
    ASSERT_LE(taken, ended);
    sum += ended - taken;
  }
  EXPECT_NEAR(static_cast<double>(sum), 10000 * 5 / 6.0 - 400, 5);
}

TEST(PeriodTrackerTest, RestIsTheTimeSinceTheLastPeriodEnded) {
  PeriodTracker tracker;
  EXPECT_EQ(tracker.RestNs(400), 400u);
  tracker.Advance(kPeriodNs + 100, kPeriodNs);
  EXPECT_EQ(tracker.RestNs(kPeriodNs + 600), 600u);
  tracker.Restart(5 * kPeriodNs);
  EXPECT_EQ(tracker.RestNs(5 * kPeriodNs + 1), 1u);
}

}  // namespace
}  // namespace coz::sampler
