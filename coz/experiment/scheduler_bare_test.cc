// Stretches without samples, between experiments.
#include <cstddef>
#include <vector>

#include "coz/base/clock.h"
#include "coz/experiment/testing/scheduler_fixture.h"
#include "gtest/gtest.h"

namespace coz::experiment {
namespace {

TEST_F(SchedulerTest, OneInEightExperimentsIsFollowedByAStretchWithoutSamples) {
  target_.may_suspend = true;
  target_.bare_rate = 1.25;
  RunFor(120 * kNsPerSecond);
  ASSERT_GT(sink_.records.size(), 150u);
  EXPECT_NEAR(static_cast<double>(sink_.bare.size()), static_cast<double>(sink_.records.size()) / 8,
              1.5);
  EXPECT_EQ(sink_.bare_starts_ns.size(), sink_.bare.size());
  for (size_t i = 0; i < sink_.bare.size(); ++i) {
    const ExperimentRecord& bare = sink_.bare[i];
    EXPECT_EQ(bare.start_ns, sink_.bare_starts_ns[i]);
    EXPECT_EQ(bare.elapsed_ns, options_.min_experiment_ns / 4);
    EXPECT_EQ(bare.total_samples, 0u);
    EXPECT_EQ(bare.inserted_delay_ns, 0u);
    EXPECT_NEAR(static_cast<double>(bare.points[0].visits), 1.25 * 125, 2);
  }
  // They are no experiments: all of these are there, and sampled.
  for (size_t i = 0; i < sink_.records.size(); ++i) {
    EXPECT_EQ(sink_.records[i].index, i);
    EXPECT_GT(sink_.records[i].total_samples, 0u);
  }
  EXPECT_FALSE(target_.suspended());
}

TEST_F(SchedulerTest, BareIntervalsComeAtAnyPlaceAmongExperiments) {
  target_.may_suspend = true;
  options_.min_experiment_ns = 20 * kNsPerMs;
  options_.min_visits = 1;
  RunFor(120 * kNsPerSecond);
  std::vector<int> places(8);
  size_t before = 0;
  for (const ExperimentRecord& bare : sink_.bare) {
    while (before < sink_.records.size() && sink_.records[before].start_ns < bare.start_ns)
      ++before;
    ++places[before % 8];
  }
  for (const int times : places) EXPECT_GT(times, 0);
}

TEST_F(SchedulerTest, ABareIntervalOfFewVisitsLastsForAnExperiment) {
  target_.may_suspend = true;
  target_.program = {{60}};
  RunFor(20 * kNsPerSecond);
  ASSERT_FALSE(sink_.bare.empty());
  for (const ExperimentRecord& bare : sink_.bare) {
    EXPECT_GE(bare.points[0].visits, 25u);
    EXPECT_GT(bare.elapsed_ns, 400 * kNsPerMs);
    EXPECT_LE(bare.elapsed_ns, options_.min_experiment_ns + 2 * options_.look_ns);
  }
}

TEST_F(SchedulerTest, ATargetThatCannotBeSuspendedIsAskedOnce) {
  RunFor(120 * kNsPerSecond);
  EXPECT_EQ(target_.suspensions, 1);
  EXPECT_EQ(target_.resumptions, 0);
  EXPECT_TRUE(sink_.bare.empty());
}

TEST_F(SchedulerTest, NoBareIntervalWhereTheExperimentIsTheWholeRun) {
  target_.may_suspend = true;
  options_.end_to_end = true;
  RunFor(20 * kNsPerSecond);
  EXPECT_EQ(target_.suspensions, 0);
}

// However the profile ends in a bare interval, sampling goes on, and what was measured is not kept.
TEST_F(SchedulerTest, AnEndInABareIntervalResumesSampling) {
  target_.may_suspend = true;
  for (int way = 0; way < 3; ++way) {
    target_.AdvanceTo(target_.NowNs() + kNsPerMs);
    Make();
    while (!target_.suspended()) RunFor(kNsPerMs);
    if (way > 0) RunFor(100 * kNsPerMs);  // past the lead-in
    ASSERT_TRUE(target_.suspended());
    const size_t kept = sink_.bare.size() + sink_.records.size();
    if (way == 0) scheduler_->Stop();
    if (way == 1) scheduler_->Finish();
    if (way == 2) scheduler_->StartAfresh();
    EXPECT_FALSE(target_.suspended()) << way;
    EXPECT_EQ(sink_.bare.size() + sink_.records.size(), kept) << way;
    EXPECT_EQ(scheduler_->done(), way < 2);
  }
  RunFor(20 * kNsPerSecond);
  EXPECT_GT(sink_.records.back().start_ns + 2 * kNsPerSecond, target_.NowNs());
}

}  // namespace
}  // namespace coz::experiment
