// Experiments in which all threads are delayed alike.
#include <cstddef>
#include <vector>

#include "coz/base/clock.h"
#include "coz/experiment/testing/scheduler_fixture.h"
#include "gtest/gtest.h"

namespace coz::experiment {
namespace {

TEST_F(SchedulerTest, OneInEightExperimentsIsFollowedByAControlAndMoreAtFirst) {
  target_.may_delay_all = true;
  RunFor(120 * kNsPerSecond);
  ASSERT_GT(sink_.records.size(), 140u);
  // Four in the first sixteen.
  EXPECT_NEAR(static_cast<double>(sink_.controls.size()),
              static_cast<double>(sink_.records.size()) / 8 + 2, 1.5);
  ASSERT_GT(sink_.controls.size(), 4u);
  EXPECT_LE(sink_.controls[3].start_ns, sink_.records[16].start_ns);
  ASSERT_GE(sink_.control_starts_ns.size(), sink_.controls.size());
  EXPECT_LE(sink_.control_starts_ns.size(), sink_.controls.size() + 1);  // in progress
  for (size_t i = 0; i < sink_.controls.size(); ++i) {
    const ExperimentRecord& control = sink_.controls[i];
    EXPECT_EQ(control.start_ns, sink_.control_starts_ns[i]);
    EXPECT_GE(control.elapsed_ns, options_.min_experiment_ns);
    EXPECT_EQ(control.virtual_speedup, 0);
    EXPECT_EQ(control.selected_samples, control.total_samples);
    // For each millisecond without delay, one sample. Two thirds of one more make 0.4 of the whole.
    EXPECT_NEAR(static_cast<double>(control.delay_per_sample_ns), 0.667 * kNsPerMs,
                0.02 * kNsPerMs);
    EXPECT_EQ(control.inserted_delay_ns, control.total_samples * control.delay_per_sample_ns);
    EXPECT_TRUE(IsValid(control));
  }
  // They are no experiments.
  for (size_t i = 0; i < sink_.records.size(); ++i) EXPECT_EQ(sink_.records[i].index, i);
  EXPECT_LE(sink_.starts.size(), sink_.records.size() + 1);
}

TEST_F(SchedulerTest, ControlsComeAtAnyPlaceAmongExperiments) {
  target_.may_delay_all = true;
  options_.min_experiment_ns = options_.shortest_experiment_ns = 20 * kNsPerMs;
  options_.min_visits = 1;
  RunFor(120 * kNsPerSecond);
  std::vector<int> places(8);
  size_t before = 0;
  for (const ExperimentRecord& control : sink_.controls) {
    while (before < sink_.records.size() && sink_.records[before].start_ns < control.start_ns)
      ++before;
    ++places[before % 8];
  }
  for (const int times : places) EXPECT_GT(times, 0);
}

TEST_F(SchedulerTest, ATargetThatCannotDelayAllIsAskedOnce) {
  RunFor(60 * kNsPerSecond);
  EXPECT_TRUE(sink_.controls.empty());
  EXPECT_GT(sink_.records.size(), 50u);
}

TEST_F(SchedulerTest, NoControlWhereNothingIsSpedUp) {
  target_.may_delay_all = true;
  options_.fixed_speedups = {0};
  RunFor(60 * kNsPerSecond);
  EXPECT_EQ(target_.controls, 0);
}

TEST_F(SchedulerTest, NoControlWhereTheExperimentIsTheWholeRun) {
  target_.may_delay_all = true;
  options_.end_to_end = true;
  RunFor(20 * kNsPerSecond);
  EXPECT_EQ(target_.controls, 0);
}

// A program that hardly runs has few samples, and none gets more than a period of delay.
TEST_F(SchedulerTest, ASampleIsDelayedByAPeriodAtMost) {
  target_.may_delay_all = true;
  options_.sampling_period_ns = 100 * kNsPerUs;  // of which the target takes one in ten
  RunFor(60 * kNsPerSecond);
  ASSERT_FALSE(sink_.controls.empty());
  for (const ExperimentRecord& control : sink_.controls) {
    EXPECT_EQ(control.delay_per_sample_ns, options_.sampling_period_ns);
  }
}

// Delays make its visits few, which says nothing of experiments.
TEST_F(SchedulerTest, AControlOfFewVisitsDoesNotMakeExperimentsLonger) {
  target_.may_delay_all = true;
  target_.program = {{34}};
  target_.unit_shares = {0.2, 0.8};
  options_.fixed_units = {0};
  options_.delay_share_of_control = 0.3;
  RunFor(60 * kNsPerSecond);
  ASSERT_GT(sink_.controls.size(), 3u);
  EXPECT_EQ(scheduler_->experiment_length_ns(), options_.min_experiment_ns);
}

// However the profile ends in a control, delays end, and no experiment comes of it.
TEST_F(SchedulerTest, AnEndInAControlEndsItsDelays) {
  target_.may_delay_all = true;
  for (int way = 0; way < 3; ++way) {
    target_.AdvanceTo(target_.NowNs() + kNsPerMs);
    Make();
    const int before = target_.controls;
    while (target_.controls == before) RunFor(kNsPerMs);
    RunFor(100 * kNsPerMs);  // past the lead-in
    const size_t experiments = sink_.records.size();
    const size_t stops = target_.stops_ns.size();
    if (way == 0) scheduler_->Stop();
    if (way == 1) scheduler_->Finish();
    if (way == 2) scheduler_->StartAfresh();
    EXPECT_GT(target_.stops_ns.size(), stops) << way;
    EXPECT_EQ(sink_.records.size(), experiments) << way;
    EXPECT_EQ(scheduler_->done(), way < 2);
  }
}

}  // namespace
}  // namespace coz::experiment
