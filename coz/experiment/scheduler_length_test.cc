// How long an experiment is, its lead-in and its drain.
#include <cstddef>

#include "coz/base/clock.h"
#include "coz/experiment/testing/scheduler_fixture.h"
#include "gtest/gtest.h"

namespace coz::experiment {
namespace {

TEST_F(SchedulerTest, TwentySecondsHoldAboutFortyExperiments) {
  RunFor(20 * kNsPerSecond);
  EXPECT_GE(sink_.records.size(), 24u);  // the only unit takes all the time, so many are stretched
  target_.unit_shares = {0.2, 0.2, 0.2, 0.2, 0.2};
  sink_ = FakeSink();
  RunFor(20 * kNsPerSecond);
  EXPECT_GE(sink_.records.size(), 36u);
  for (const ExperimentRecord& record : sink_.records) {
    EXPECT_GE(record.elapsed_ns, 500 * kNsPerMs);
  }
}

TEST_F(SchedulerTest, DelayIsTakenOffTheDurationSoThatAnIdleLineShowsNoEffect) {
  // The program progresses only while it is not paused: the unit does not matter to it.
  target_.unit_shares = {0.4, 0.6};
  options_.fixed_units = {0};
  RunFor(60 * kNsPerSecond);
  ASSERT_GT(sink_.records.size(), 50u);
  for (const ExperimentRecord& record : sink_.records) {
    EXPECT_EQ(record.effective_duration_ns,
              static_cast<int64_t>(record.elapsed_ns - record.inserted_delay_ns));
    const double period_ms = static_cast<double>(record.effective_duration_ns) / 1e6 /
                             static_cast<double>(record.points[0].visits);
    EXPECT_NEAR(period_ms, 1, 0.01);
    EXPECT_NEAR(record.achieved_virtual_speedup, record.virtual_speedup, 1e-6);
    EXPECT_NEAR(
        static_cast<double>(record.inserted_delay_ns) / static_cast<double>(record.elapsed_ns),
        0.4 * record.virtual_speedup, 0.01);
  }
}

TEST_F(SchedulerTest, AnExperimentThatIsMostlyDelayIsStretchedUpToTwice) {
  options_.fixed_units = {0};
  options_.fixed_speedups = {1};
  options_.baseline_probability = 0;
  RunFor(3 * kNsPerSecond);
  ASSERT_FALSE(sink_.records.empty());
  EXPECT_NEAR(static_cast<double>(sink_.records[0].elapsed_ns), 1e9, 1e7);
  // That there were no visits was due to the delays and tells nothing of the program.
  EXPECT_EQ(scheduler_->experiment_length_ns(), options_.min_experiment_ns);
  target_.unit_shares = {0.6, 0.4};  // 0.4 of the time is effective: 625 ms for half of 500
  RunFor(3 * kNsPerSecond);
  EXPECT_NEAR(static_cast<double>(sink_.records.back().elapsed_ns), 6.25e8, 3e7);
}

TEST_F(SchedulerTest, FewVisitsDoubleTheLengthForTheRestOfTheRun) {
  target_.program = {{3}};
  target_.unit_shares = {0.1, 0.9};
  options_.fixed_units = {0};
  options_.fixed_speedups = {0};
  RunFor(20 * kNsPerSecond);
  ASSERT_GE(sink_.records.size(), 4u);
  EXPECT_EQ(scheduler_->experiment_length_ns(), 4 * kNsPerSecond);
  for (const ExperimentRecord& record : sink_.records) {
    EXPECT_GE(record.points[0].visits, options_.min_visits);
    EXPECT_TRUE(record.taints.empty());
  }
  target_.program = {{1000}};
  RunFor(20 * kNsPerSecond);
  EXPECT_NEAR(static_cast<double>(sink_.records.back().elapsed_ns), 4e9, 1e7);
}

TEST_F(SchedulerTest, LengthIsBoundedAndTheExperimentThenTainted) {
  target_.program = {{0.3}};
  options_.fixed_speedups = {0};
  RunFor(60 * kNsPerSecond);
  EXPECT_EQ(scheduler_->experiment_length_ns(), options_.max_experiment_ns);
  ASSERT_GE(sink_.records.size(), 5u);
  for (const ExperimentRecord& record : sink_.records) {
    EXPECT_TRUE(HasTaint(record, TaintKind::kTooFewVisits));
    EXPECT_TRUE(IsValid(record));
  }
}

TEST_F(SchedulerTest, APointVisitedOnceSilencesAndLengthensNothing) {
  target_.program = {{1000}, {1000, 0, 0}, {0}};  // the second: in the first millisecond only
  options_.fixed_speedups = {0};
  RunFor(20 * kNsPerSecond);
  EXPECT_EQ(target_.Read().points[1].visits, 1u);
  EXPECT_GE(sink_.records.size(), 36u);
  EXPECT_EQ(scheduler_->experiment_length_ns(), options_.min_experiment_ns);
  for (const ExperimentRecord& record : sink_.records) EXPECT_TRUE(record.taints.empty());
}

TEST_F(SchedulerTest, APauseBetweenPhasesLengthensOnlyTheExperimentInProgress) {
  options_.fixed_speedups = {0};
  RunFor(2 * kNsPerSecond);
  target_.program = {{0}};
  RunFor(3 * kNsPerSecond);
  target_.program = {{1000}};
  RunFor(10 * kNsPerSecond);
  EXPECT_EQ(scheduler_->experiment_length_ns(), options_.min_experiment_ns);
  EXPECT_NEAR(static_cast<double>(sink_.records.back().elapsed_ns), 5e8, 1e7);
}

TEST_F(SchedulerTest, CountersAreReadWhenDebtsArePaid) {
  target_.settle_ns = 2 * kNsPerMs + 100 * kNsPerUs;
  RunFor(5 * kNsPerSecond);
  ASSERT_FALSE(sink_.records.empty());
  for (const ExperimentRecord& record : sink_.records) {
    EXPECT_TRUE(record.settled);
    EXPECT_GE(record.drain_ns, target_.settle_ns);
    EXPECT_LE(record.drain_ns, target_.settle_ns + options_.drain_look_ns);
  }
  for (size_t i = 1; i < target_.selections.size(); ++i) {
    EXPECT_GE(target_.selections[i].at_ns,
              target_.stops_ns[i - 1] + target_.settle_ns + options_.cooloff_ns);
  }
}

TEST_F(SchedulerTest, ADrainThatDoesNotEndIsGivenUpAndTheDebtRecorded) {
  target_.never_settles = true;
  target_.counters.owed_ns = target_.counters.max_owed_ns = 40 * kNsPerMs;
  target_.unit_shares = {0.1, 0.9};
  options_.fixed_speedups = {0.5};
  RunFor(5 * kNsPerSecond);
  ASSERT_FALSE(sink_.records.empty());
  for (const ExperimentRecord& record : sink_.records) {
    EXPECT_FALSE(record.settled);
    EXPECT_NEAR(static_cast<double>(record.drain_ns), 47e6, 1e5);  // 2 P, the debt, 5 ms
    EXPECT_EQ(record.max_owed_at_end_ns, 40 * kNsPerMs);
    EXPECT_TRUE(HasTaint(record, TaintKind::kDelayOwed));
  }
}

TEST_F(SchedulerTest, TheLeadInHasDelaysAndIsNotMeasured) {
  options_.fixed_speedups = {0.5};
  options_.baseline_probability = 0;
  options_.lead_in_visits = 0;  // by time alone
  RunFor(2 * kNsPerSecond);
  ASSERT_GE(sink_.records.size(), 2u);
  for (size_t i = 0; i < sink_.records.size(); ++i) {
    const ExperimentRecord& record = sink_.records[i];
    EXPECT_EQ(record.start_ns, target_.selections[i].at_ns + options_.lead_in_ns);
    EXPECT_EQ(sink_.starts[i].start_ns, record.start_ns);
    // All of its delays, and none of the lead-in's, belong to it.
    EXPECT_EQ(record.inserted_delay_ns, record.selected_samples * record.delay_per_sample_ns);
  }
}

}  // namespace
}  // namespace coz::experiment
