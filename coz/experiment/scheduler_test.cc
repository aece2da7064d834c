// How a run begins, is kept in step, is disturbed and ends.
#include <cstdint>
#include <limits>

#include "coz/base/clock.h"
#include "coz/experiment/testing/scheduler_fixture.h"
#include "gtest/gtest.h"

namespace coz::experiment {
namespace {

TEST_F(SchedulerTest, NothingIsSelectedBeforeTheFirstVisit) {
  target_.program = {{1000, 3 * kNsPerSecond}};
  RunFor(5 * kNsPerSecond);
  ASSERT_FALSE(target_.selections.empty());
  EXPECT_GE(target_.selections[0].at_ns, 3 * kNsPerSecond);
  EXPECT_LT(target_.selections[0].at_ns, 3 * kNsPerSecond + 50 * kNsPerMs);
}

TEST_F(SchedulerTest, NoProgressIsSaidOnceAndTheWaitGoesOn) {
  target_.program = {{1000, 25 * kNsPerSecond}};
  RunFor(24 * kNsPerSecond);
  EXPECT_TRUE(scheduler_->waiting_for_progress());
  ASSERT_EQ(sink_.no_progress_ns.size(), 1u);
  EXPECT_NEAR(static_cast<double>(sink_.no_progress_ns[0]), 10e9, 1e7);
  RunFor(5 * kNsPerSecond);
  EXPECT_FALSE(sink_.starts.empty());
  EXPECT_EQ(sink_.no_progress_ns.size(), 1u);
}

TEST_F(SchedulerTest, TheDeadlineIsKeptAheadAndNoFurtherThanTheLease) {
  options_.fixed_speedups = {0};
  Make();
  for (uint64_t next_ns = 0; target_.NowNs() < 5 * kNsPerSecond; target_.AdvanceTo(next_ns)) {
    next_ns = scheduler_->Step();
    if (target_.selections.size() == target_.stops_ns.size()) continue;
    EXPECT_GT(target_.last_deadline_ns, next_ns);
    EXPECT_LE(target_.last_deadline_ns, target_.NowNs() + options_.lease_ns);
  }
}

TEST_F(SchedulerTest, AStepAfterTheDeadlineTaintsTheExperiment) {
  RunFor(100 * kNsPerMs);
  target_.AdvanceTo(3 * kNsPerSecond);  // the supervisor is stopped meanwhile
  RunFor(3 * kNsPerSecond);
  ASSERT_GE(sink_.records.size(), 2u);
  EXPECT_TRUE(HasTaint(sink_.records[0], TaintKind::kSupervisorLate));
  EXPECT_FALSE(IsValid(sink_.records[0]));
  EXPECT_FALSE(HasTaint(sink_.records[1], TaintKind::kSupervisorLate));
}

TEST_F(SchedulerTest, AnInterruptionInvalidatesOnlyItsExperiment) {
  RunFor(100 * kNsPerMs);
  ++target_.counters.interruptions;
  RunFor(4 * kNsPerSecond);
  ASSERT_GE(sink_.records.size(), 2u);
  EXPECT_TRUE(HasTaint(sink_.records[0], TaintKind::kInterrupted));
  EXPECT_FALSE(IsValid(sink_.records[0]));
  EXPECT_TRUE(IsValid(sink_.records[1]));
}

TEST_F(SchedulerTest, StopDrainsAndKeepsALongEnoughExperiment) {
  target_.program = {{3}};  // one of 2 s
  target_.settle_ns = kNsPerMs;
  RunFor(1900 * kNsPerMs);
  ASSERT_TRUE(sink_.records.empty());
  scheduler_->Stop();
  EXPECT_EQ(target_.stops_ns.size(), 1u);
  EXPECT_FALSE(scheduler_->done());
  RunFor(kNsPerSecond);
  EXPECT_TRUE(scheduler_->done());
  ASSERT_EQ(sink_.records.size(), 1u);
  EXPECT_TRUE(sink_.records[0].settled);
  EXPECT_FALSE(HasTaint(sink_.records[0], TaintKind::kTargetEnded));
}

TEST_F(SchedulerTest, StartAfreshGivesUpTheExperimentAndGoesOnWithAnother) {
  options_.lead_in_ns = 20 * kNsPerMs;
  RunFor(300 * kNsPerMs);
  ASSERT_EQ(sink_.starts.size(), 1u);
  scheduler_->StartAfresh();
  EXPECT_EQ(sink_.dropped, 1);
  EXPECT_FALSE(scheduler_->done());
  const uint64_t changed_ns = target_.NowNs();
  RunFor(2 * kNsPerSecond);
  ASSERT_GE(sink_.records.size(), 2u);
  EXPECT_GE(sink_.records[0].start_ns, changed_ns);
  EXPECT_EQ(sink_.records[0].index, 0u);
}

TEST_F(SchedulerTest, StartAfreshKeepsAnExperimentThatIsTheWholeRun) {
  options_.end_to_end = true;
  RunFor(kNsPerSecond);
  scheduler_->StartAfresh();
  EXPECT_EQ(sink_.dropped, 0);
  RunFor(kNsPerSecond);
  scheduler_->Finish();
  ASSERT_EQ(sink_.records.size(), 1u);
  EXPECT_GE(sink_.records[0].elapsed_ns, 2 * kNsPerSecond);
}

TEST_F(SchedulerTest, StopInTheLeadInEndsItsDelays) {
  options_.min_experiment_ns = options_.max_experiment_ns;
  options_.lead_in_ns = kNsPerSecond;
  RunFor(500 * kNsPerMs);
  ASSERT_EQ(target_.selections.size(), 1u);
  EXPECT_TRUE(sink_.starts.empty());
  scheduler_->Stop();
  EXPECT_TRUE(scheduler_->done());
  EXPECT_EQ(target_.stops_ns.size(), 1u);
}

TEST_F(SchedulerTest, StopDropsAShortExperimentAndEndsItsDelays) {
  RunFor(300 * kNsPerMs);
  ASSERT_EQ(sink_.starts.size(), 1u);
  scheduler_->Stop();
  EXPECT_TRUE(scheduler_->done());
  EXPECT_EQ(sink_.dropped, 1);
  EXPECT_EQ(target_.stops_ns.size(), 1u);
  EXPECT_EQ(scheduler_->Step(), std::numeric_limits<uint64_t>::max());
}

TEST_F(SchedulerTest, FinishKeepsALongEnoughExperimentWithoutADrain) {
  target_.program = {{3}};
  target_.never_settles = true;
  RunFor(1900 * kNsPerMs);
  scheduler_->Finish();
  EXPECT_TRUE(scheduler_->done());
  ASSERT_EQ(sink_.records.size(), 1u);
  EXPECT_TRUE(HasTaint(sink_.records[0], TaintKind::kTargetEnded));
  EXPECT_FALSE(sink_.records[0].settled);
  scheduler_->Finish();
  EXPECT_EQ(sink_.records.size(), 1u);
}

TEST_F(SchedulerTest, EndToEndIsOneExperimentOverTheWholeRun) {
  options_.end_to_end = true;
  options_.fixed_units = {1};
  options_.fixed_speedups = {0.5};
  options_.baseline_probability = 0;
  target_.program = {};
  target_.unit_shares = {0.6, 0.4};
  RunFor(30 * kNsPerSecond);
  EXPECT_TRUE(sink_.records.empty());
  scheduler_->Finish();
  ASSERT_EQ(sink_.records.size(), 1u);
  EXPECT_EQ(target_.selections.size(), 1u);
  const ExperimentRecord& record = sink_.records[0];
  EXPECT_EQ(record.start_ns, 0u);
  EXPECT_EQ(record.elapsed_ns, 30 * kNsPerSecond);
  EXPECT_EQ(record.selected_after_ns, 0u);
  EXPECT_NEAR(static_cast<double>(record.inserted_delay_ns), 30e9 * 0.4 * 0.5, 1e7);
  EXPECT_TRUE(record.taints.empty());
}

TEST_F(SchedulerTest, EndToEndDrawsItsUnitEarlyAndSaysWhen) {
  options_.end_to_end = true;
  target_.program = {};
  RunFor(2 * kNsPerSecond);
  scheduler_->Finish();
  ASSERT_EQ(sink_.records.size(), 1u);
  EXPECT_EQ(sink_.records[0].elapsed_ns, 2 * kNsPerSecond);
  EXPECT_NEAR(static_cast<double>(sink_.records[0].selected_after_ns), 1e8, 5e6);
}

}  // namespace
}  // namespace coz::experiment
