#include "coz/experiment/recorder.h"

#include <algorithm>

#include "coz/base/clock.h"
#include "gtest/gtest.h"

namespace coz::experiment {
namespace {

TargetSnapshot At(uint64_t now_ns, uint64_t global_delay_ns) {
  TargetSnapshot snapshot;
  snapshot.now_ns = now_ns;
  snapshot.global_delay_ns = global_delay_ns;
  snapshot.imposed_ns = global_delay_ns;
  return snapshot;
}

bool HasTaint(const ExperimentRecord& record, TaintKind kind) {
  return std::any_of(record.taints.begin(), record.taints.end(),
                     [kind](const Taint& taint) { return taint.kind == kind; });
}

constexpr ExperimentPlan kHalf = {0, 1, 0.5, kNsPerMs / 2, 0};

TEST(RecorderTest, InFlightIsIntegratedOverEffectiveTime) {
  TargetSnapshot start = At(0, 0);
  start.points = {{0, 10, 8}};
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot middle = At(100, 60);  // 40 ns effective with 2 to 4 in flight
  middle.points = {{0, 20, 16}};
  recorder.Look(middle);
  TargetSnapshot end = At(200, 60);  // 100 ns effective with 4 in flight
  end.points = {{0, 30, 26}, {7, 0, 0}};
  const ExperimentRecord record = recorder.Finish(SchedulerOptions(), end, 200, true);
  ASSERT_EQ(record.points.size(), 2u);
  EXPECT_DOUBLE_EQ(record.points[0].in_flight_ns, 40 * 3 + 100 * 4);
  EXPECT_EQ(record.points[0].arrivals, 20u);
  EXPECT_EQ(record.points[0].departures, 18u);
  EXPECT_EQ(record.points[1].visits, 7u);  // a point that appeared during the experiment
}

TEST(RecorderTest, ADepartureSeenBeforeItsArrivalCountsNothing) {
  TargetSnapshot start = At(0, 0);
  start.points = {{0, 1, 2}};
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot end = At(100, 0);
  end.points = {{0, 5, 6}};
  EXPECT_EQ(recorder.Finish(SchedulerOptions(), end, 100, true).points[0].in_flight_ns, 0);
}

// A server is busy with one request for 80 of 130 ns, and delay is inserted while it is: looks
// cannot see that, times can.
TEST(RecorderTest, InFlightIsExactWhereEveryTimeIsKnown) {
  TargetSnapshot start = At(1000, 300);
  start.points = {{0, 5, 5, 5, 5, ~uint64_t{0} - 50, 100}};
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot end = At(2000, 800);  // 500 ns effective, from 700 to 1200
  // Came at 750 and 900, left at 790; the second is still there.
  end.points = {{0, 7, 6, 7, 6, ~uint64_t{0} - 50 + 750 + 900, 100 + 790}};
  const ExperimentRecord record = recorder.Finish(SchedulerOptions(), end, 2000, true);
  EXPECT_DOUBLE_EQ(record.points[0].in_flight_ns, 40 + 300);
  EXPECT_TRUE(record.points[0].in_flight_by_times);
}

// One more was under way before anything was counted: its end, at 710, has no begin.
TEST(RecorderTest, WhoWasUnderWayBeforeIsKnownInTheEnd) {
  TargetSnapshot start = At(1000, 300);
  start.points = {{0, 5, 5, 5, 5, 0, 100}};
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot end = At(2000, 800);  // 500 ns effective, from 700 to 1200
  end.points = {{0, 7, 7, 7, 7, 750 + 900, 100 + 710 + 790}};
  end.points[0].begun_before = 1;
  const ExperimentRecord record = recorder.Finish(SchedulerOptions(), end, 2000, true);
  EXPECT_DOUBLE_EQ(record.points[0].in_flight_ns, 10 + 40 + 300);
  EXPECT_TRUE(record.points[0].in_flight_by_times);
}

TEST(RecorderTest, WhoWasUnderWayBeforeIsSeenByLooks) {
  TargetSnapshot start = At(0, 300);
  start.points = {{0, 5, 6}};
  start.points[0].begun_before = 2;
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot end = At(1000, 800);
  end.points = start.points;
  end.points[0].charged_delay_ns = 500;
  end.points[0].charged_in_flight_ns = -uint64_t{500};  // ends were one ahead of begins
  EXPECT_DOUBLE_EQ(recorder.Finish(SchedulerOptions(), end, 1000, true).points[0].in_flight_ns,
                   1000 - 500);
}

// The same server. Known are only the number of requests, and that one was under way at each delay.
TEST(RecorderTest, DelaysThatWereChargedAreLeftOutWithWhatWasUnderWay) {
  TargetSnapshot start = At(0, 300);
  start.points.resize(1);
  start.points[0].charged_delay_ns = 7000;
  start.points[0].charged_in_flight_ns = 9000;
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot middle = At(100, 800);
  middle.points = start.points;
  middle.points[0].arrivals = 1;
  recorder.Look(middle);
  TargetSnapshot end = At(1000, 800);  // on the clock 50 + 900
  end.points = middle.points;
  // 600 of which 500 were inserted by the end.
  end.points[0].charged_delay_ns += 600;
  end.points[0].charged_in_flight_ns += 600;
  const ExperimentRecord record = recorder.Finish(SchedulerOptions(), end, 1000, true);
  EXPECT_DOUBLE_EQ(record.points[0].in_flight_ns, 950 - 500);
  EXPECT_FALSE(record.points[0].in_flight_by_times);
  EXPECT_FALSE(record.points[0].in_flight_evened_out);
}

TEST(RecorderTest, SaysWhetherDelaysThatWereNotChargedAreEvenedOut) {
  TargetSnapshot start = At(0, 0);
  start.points = {{0, 0, 0, 0, 0, 0, 0}};
  TargetSnapshot end = At(100, 0);
  end.points = {{0, 2, 0, 0, 0, 0, 0}};
  ExperimentRecorder baseline(kHalf, start);
  EXPECT_FALSE(baseline.Finish(SchedulerOptions(), end, 100, true).points[0].in_flight_evened_out);
  end.global_delay_ns = 50;
  ExperimentRecorder delayed(kHalf, start);
  EXPECT_TRUE(delayed.Finish(SchedulerOptions(), end, 100, true).points[0].in_flight_evened_out);
}

TEST(RecorderTest, LooksServeWhereATimeIsMissing) {
  TargetSnapshot start = At(0, 0);
  start.points = {{0, 0, 0, 0, 0, 0, 0}};
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot end = At(100, 0);
  end.points = {{0, 2, 0, 1, 0, 50, 0}};
  const ExperimentRecord record = recorder.Finish(SchedulerOptions(), end, 100, true);
  EXPECT_DOUBLE_EQ(record.points[0].in_flight_ns, 100);
  EXPECT_FALSE(record.points[0].in_flight_by_times);
}

TEST(RecorderTest, AchievedSpeedupLeavesOutWhatIsStillOwed) {
  ExperimentRecorder recorder(kHalf, At(0, 0));
  TargetSnapshot end = At(kNsPerSecond, 100 * kNsPerMs);
  end.selected_samples = 200;
  end.paid_ns = 60 * kNsPerMs;
  end.credited_ns = 20 * kNsPerMs;
  end.owed_ns = 20 * kNsPerMs;
  const ExperimentRecord record = recorder.Finish(SchedulerOptions(), end, end.now_ns, false);
  EXPECT_DOUBLE_EQ(record.achieved_virtual_speedup, 0.5 * 0.8);
}

TEST(RecorderTest, AchievedSpeedupLeavesOutTheDrain) {
  ExperimentRecorder recorder(kHalf, At(0, 0));
  TargetSnapshot end = At(kNsPerSecond, 100 * kNsPerMs);
  end.selected_samples = 200;
  end.imposed_ns = 100 * kNsPerMs;
  end.paid_ns = 100 * kNsPerMs;
  const ExperimentRecord record =
      recorder.Finish(SchedulerOptions(), end, end.now_ns - 50 * kNsPerMs, true);
  EXPECT_DOUBLE_EQ(record.achieved_virtual_speedup, 0.5 * 0.95);
}

TEST(RecorderTest, PausesThatAreAskedForAndHaveNotPassedAreNoExcess) {
  TargetSnapshot start = At(0, 0);
  start.excess_ns = 100;
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot end = At(1000, 0);
  end.excess_ns = 40;
  EXPECT_EQ(recorder.Finish(SchedulerOptions(), end, 1000, true).excess_ns, 0u);
  end.excess_ns = 130;
  EXPECT_EQ(recorder.Finish(SchedulerOptions(), end, 1000, true).excess_ns, 30u);
}

TEST(RecorderTest, WhatASleeperStillOwesTaints) {
  ExperimentRecorder recorder(kHalf, At(0, 0));
  TargetSnapshot end = At(kNsPerSecond, 100 * kNsPerMs);
  end.selected_samples = 200;
  end.max_owed_asleep_ns = 40 * kNsPerMs;
  const ExperimentRecord little = recorder.Finish(SchedulerOptions(), end, end.now_ns, true);
  EXPECT_FALSE(HasTaint(little, TaintKind::kDelayOwed));
  end.max_owed_asleep_ns = 60 * kNsPerMs;
  const ExperimentRecord much = recorder.Finish(SchedulerOptions(), end, end.now_ns, true);
  EXPECT_TRUE(HasTaint(much, TaintKind::kDelayOwed));
  EXPECT_TRUE(IsValid(much));
}

TEST(RecorderTest, DebtsFromBeforeThatArePaidNowDoNotRaiseTheAchievedSpeedup) {
  TargetSnapshot start = At(0, 0);
  start.owed_ns = 50 * kNsPerMs;
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot end = At(kNsPerSecond, 100 * kNsPerMs);
  end.selected_samples = 200;
  end.paid_ns = 150 * kNsPerMs;
  const ExperimentRecord record = recorder.Finish(SchedulerOptions(), end, end.now_ns, true);
  EXPECT_DOUBLE_EQ(record.achieved_virtual_speedup, 0.5);
  EXPECT_EQ(record.owed_at_start_ns, 50 * kNsPerMs);
}

TEST(RecorderTest, MoreRunnableThreadsThanCpusTaint) {
  TargetSnapshot start = At(0, 0);
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot now = At(10, 0);
  now.cpus = 2;
  now.live_threads = 9;
  now.runnable_threads = 4;
  now.threads_beside = 3;
  recorder.Look(now);
  now.runnable_threads = 2;
  now.periods_per_sample = 4.5;
  const ExperimentRecord record = recorder.Finish(SchedulerOptions(), now, 10, true);
  EXPECT_TRUE(HasTaint(record, TaintKind::kOversubscribed));
  EXPECT_DOUBLE_EQ(record.mean_runnable_threads, 3);
  EXPECT_DOUBLE_EQ(record.mean_threads_beside, 3);
  EXPECT_DOUBLE_EQ(record.periods_per_sample, 4.5);
  EXPECT_DOUBLE_EQ(record.oversubscribed_share, 0.5);
  EXPECT_DOUBLE_EQ(record.mean_live_threads, 9);
}

TEST(RecorderTest, AsManyRunnableThreadsAsCpusDoNotTaint) {
  ExperimentRecorder recorder(kHalf, At(0, 0));
  TargetSnapshot now = At(10, 0);
  now.cpus = now.runnable_threads = now.threads_beside = 2;
  EXPECT_FALSE(
      HasTaint(recorder.Finish(SchedulerOptions(), now, 10, true), TaintKind::kOversubscribed));
}

TEST(RecorderTest, LostSamplesInvalidate) {
  ExperimentRecorder recorder(kHalf, At(0, 0));
  TargetSnapshot end = At(10, 0);
  end.total_samples = 90;
  end.lost_samples = 10;
  const ExperimentRecord record = recorder.Finish(SchedulerOptions(), end, 10, true);
  EXPECT_TRUE(HasTaint(record, TaintKind::kSamplesLost));
  EXPECT_FALSE(IsValid(record));
}

// Two threads on a CPU and a half: half a second of the clock each.
TEST(RecorderTest, TimeThatAnOuterQuotaTookInvalidates) {
  SchedulerOptions options;
  options.sampling_period_ns = kNsPerMs;
  TargetSnapshot start = At(0, 0);
  start.quota.throttled_elsewhere_ns = 700 * kNsPerMs;
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot end = At(500 * kNsPerMs, 0);
  end.total_samples = 700;
  end.lost_periods = 30;
  end.unsampled_ns = 20 * kNsPerMs;
  end.quota.throttled_elsewhere_ns = 950 * kNsPerMs;
  const ExperimentRecord record = recorder.Finish(options, end, end.now_ns, true);
  EXPECT_EQ(record.quota.throttled_elsewhere_ns, 250 * kNsPerMs);
  ASSERT_TRUE(HasTaint(record, TaintKind::kCpuQuota));
  EXPECT_FALSE(IsValid(record));
  const auto taint = std::find_if(record.taints.begin(), record.taints.end(), [](const Taint& one) {
    return one.kind == TaintKind::kCpuQuota;
  });
  EXPECT_EQ(
      taint->reason,
      "The quota of an outer cgroup stopped threads for 25 % of the time for which they wanted "
      "to run (250.0 ms).");
}

// What a quota takes of a program that is mostly idle is measured by the clock, as its progress is.
TEST(RecorderTest, LittleTimeThatAnOuterQuotaTookIsOnlyRecorded) {
  SchedulerOptions options;
  options.sampling_period_ns = kNsPerMs;
  ExperimentRecorder recorder(kHalf, At(0, 0));
  TargetSnapshot end = At(500 * kNsPerMs, 0);
  end.total_samples = 20;
  end.quota.throttled_elsewhere_ns = 20 * kNsPerMs;
  const ExperimentRecord record = recorder.Finish(options, end, end.now_ns, true);
  EXPECT_EQ(record.quota.throttled_elsewhere_ns, 20 * kNsPerMs);
  EXPECT_FALSE(HasTaint(record, TaintKind::kCpuQuota));
}

TEST(RecorderTest, UseOfTheQuotaIsThatOfTheExperiment) {
  TargetSnapshot start = At(0, 0);
  start.quota = {100, 0, 10, 20, 300, 400};
  start.pause_cpu_ns = 5;
  start.imposed_ns = 6;
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot end = At(500 * kNsPerMs, 0);
  end.quota = {400 * kNsPerMs, 0, 15, 24, 350, 460};
  end.pause_cpu_ns = 8;
  end.imposed_ns = 10;
  const ExperimentRecord record = recorder.Finish(SchedulerOptions(), end, end.now_ns, true);
  EXPECT_EQ(record.quota.throttled_ns, 400 * kNsPerMs - 100);
  EXPECT_EQ(record.quota.periods, 5u);
  EXPECT_EQ(record.quota.throttled_periods, 4u);
  EXPECT_EQ(record.quota.used_ns, 50u);
  EXPECT_EQ(record.quota.allowed_ns, 60u);
  EXPECT_EQ(record.pause_cpu_ns, 3u);
  EXPECT_EQ(record.imposed_ns, 4u);
  EXPECT_FALSE(HasTaint(record, TaintKind::kCpuQuota)) << "the report takes it into account";
}

// Of few samples under --given: what is given was counted before what it imposed.
TEST(RecorderTest, DelayImposedIsNeverBelowNone) {
  TargetSnapshot start = At(0, 0);
  start.imposed_ns = 10;
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot end = At(500 * kNsPerMs, 0);
  end.imposed_ns = 6;
  end.selected_samples = 3;
  const ExperimentRecord record = recorder.Finish(SchedulerOptions(), end, end.now_ns, true);
  EXPECT_EQ(record.imposed_ns, 0u);
  EXPECT_EQ(record.achieved_virtual_speedup, 0);
}

TEST(RecorderTest, UseOfTheCpusIsThatOfTheExperiment) {
  TargetSnapshot start = At(0, 0);
  start.cpu_use = {100, 200, 300};
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot middle = At(10, 0);
  middle.realtime_threads = 3;
  recorder.Look(middle);
  TargetSnapshot end = At(20, 0);
  end.cpu_use = {150, 190, 310};  // idle time fell
  end.realtime_threads = 1;
  const ExperimentRecord record = recorder.Finish(SchedulerOptions(), end, 20, true);
  EXPECT_EQ(record.cpu_use.busy_ns, 50u);
  EXPECT_EQ(record.cpu_use.idle_ns, 0u);
  EXPECT_EQ(record.cpu_use.stolen_ns, 10u);
  EXPECT_EQ(record.most_realtime_threads, 3);
}

TEST(RecorderTest, WhatWasNotSampledIsRecorded) {
  TargetSnapshot start = At(0, 0);
  start.lost_periods = 5;
  start.unsampled_ns = 100;
  ExperimentRecorder recorder(kHalf, start);
  TargetSnapshot end = At(10, 0);
  end.total_samples = 100;
  end.lost_periods = 12;
  end.unsampled_ns = 350;
  const ExperimentRecord record = recorder.Finish(SchedulerOptions(), end, 10, true);
  EXPECT_EQ(record.lost_periods, 7u);
  EXPECT_EQ(record.unsampled_ns, 250u);
  EXPECT_FALSE(HasTaint(record, TaintKind::kSamplesLost));
}

TEST(RecorderTest, AnInactiveUnitTaintsOnlyASpeedup) {
  ExperimentRecorder half(kHalf, At(0, 0));
  EXPECT_TRUE(
      HasTaint(half.Finish(SchedulerOptions(), At(10, 0), 10, true), TaintKind::kUnitInactive));
  ExperimentRecorder baseline(ExperimentPlan(), At(0, 0));
  EXPECT_FALSE(
      HasTaint(baseline.Finish(SchedulerOptions(), At(10, 0), 10, true), TaintKind::kUnitInactive));
}

TEST(RecorderTest, EffectiveDurationMayFallALittleBelowNothing) {
  ExperimentRecorder recorder(kHalf, At(0, 0));
  EXPECT_EQ(recorder.Finish(SchedulerOptions(), At(1000, 1003), 1000, true).effective_duration_ns,
            -3);
}

}  // namespace
}  // namespace coz::experiment
