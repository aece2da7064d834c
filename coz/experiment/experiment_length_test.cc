#include "coz/experiment/experiment_length.h"

#include <cstdint>
#include <initializer_list>

#include "coz/base/clock.h"
#include "coz/experiment/options.h"
#include "coz/experiment/record.h"
#include "gtest/gtest.h"

namespace coz::experiment {
namespace {

// Of half a second, with so many visits to each point and one sample in a millisecond on two CPUs.
ExperimentRecord Saw(std::initializer_list<uint64_t> visits) {
  ExperimentRecord record;
  record.elapsed_ns = 500 * kNsPerMs;
  record.effective_duration_ns = 500 * kNsPerMs;
  record.total_samples = 1000;
  for (const uint64_t count : visits) {
    record.points.emplace_back();
    record.points.back().visits = count;
  }
  return record;
}

uint64_t MsAfter(const ExperimentRecord& record) {
  ExperimentLength length((SchedulerOptions()));
  length.Learn(record);
  return length.ns() / kNsPerMs;
}

TEST(ExperimentLengthTest, BeginsAtFullLength) {
  EXPECT_EQ(ExperimentLength((SchedulerOptions())).ns(), 500 * kNsPerMs);
}

TEST(ExperimentLengthTest, IsAsShortAsVisitsAllow) {
  EXPECT_EQ(MsAfter(Saw({20000})), 100u);
  EXPECT_EQ(MsAfter(Saw({500})), 200u);
  EXPECT_EQ(MsAfter(Saw({200})), 500u);
  EXPECT_EQ(MsAfter(Saw({30})), 500u);
  EXPECT_EQ(MsAfter(Saw({0})), 500u);
  EXPECT_EQ(MsAfter(Saw({})), 100u) << "samples alone decide where there is no point";
}

TEST(ExperimentLengthTest, SuitsEachPointThatAFullExperimentSuits) {
  EXPECT_EQ(MsAfter(Saw({20000, 500})), 200u);
  EXPECT_EQ(MsAfter(Saw({20000, 5})), 500u);
  EXPECT_EQ(MsAfter(Saw({20000, 4})), 100u) << "too rare for any experiment";
}

TEST(ExperimentLengthTest, IsFullWhereRequestsAreUnderWay) {
  ExperimentRecord record = Saw({20000});
  record.points.emplace_back();
  record.points.back().arrivals = 10000;
  record.points.back().departures = 10000;
  EXPECT_EQ(MsAfter(record), 500u);
}

TEST(ExperimentLengthTest, IsLongerWhereSamplesAreFew) {
  ExperimentRecord record = Saw({20000});
  record.total_samples = 300;
  EXPECT_EQ(MsAfter(record), 250u);
  record.total_samples = 0;
  EXPECT_EQ(MsAfter(record), 500u);
}

TEST(ExperimentLengthTest, IsLongerWhereASampleStandsForSeveralPeriods) {
  ExperimentRecord record = Saw({20000});
  record.periods_per_sample = 2.5;
  EXPECT_EQ(MsAfter(record), 187u);
  record.periods_per_sample = 10;
  EXPECT_EQ(MsAfter(record), 500u);
}

TEST(ExperimentLengthTest, FollowsTheProgramUntilVisitsAreTooFewForFullLength) {
  ExperimentLength length((SchedulerOptions()));
  length.Learn(Saw({20000}));
  length.Grow(200 * kNsPerMs);
  EXPECT_EQ(length.ns(), 200 * kNsPerMs);
  length.Learn(Saw({20000}));
  EXPECT_EQ(length.ns(), 100 * kNsPerMs);
  length.Grow(2 * kNsPerSecond);
  length.Learn(Saw({20000}));
  EXPECT_EQ(length.ns(), 2 * kNsPerSecond);
}

TEST(ExperimentLengthTest, AGivenLengthIsNotShortened) {
  SchedulerOptions options;
  options.min_experiment_ns = options.shortest_experiment_ns = 300 * kNsPerMs;
  ExperimentLength length(options);
  length.Learn(Saw({20000}));
  EXPECT_EQ(length.ns(), 300 * kNsPerMs);
}

TEST(ExperimentLengthTest, LeadInAndCooloffAreInProportion) {
  const SchedulerOptions options;
  ExperimentLength length(options);
  EXPECT_EQ(length.lead_in_ns(), options.lead_in_ns);
  EXPECT_EQ(length.cooloff_ns(), options.cooloff_ns);
  EXPECT_EQ(length.look_ns(), options.look_ns);
  length.Learn(Saw({20000}));
  EXPECT_EQ(length.lead_in_ns(), 10 * kNsPerMs);
  EXPECT_EQ(length.cooloff_ns(), 5 * kNsPerMs);
  EXPECT_EQ(length.look_ns(), 5 * kNsPerMs);
}

TEST(ExperimentLengthTest, LeadInLastsSomeVisitsAndNoMoreThanAQuarter) {
  const SchedulerOptions options;
  ASSERT_EQ(options.lead_in_visits, 20u);
  ExperimentLength length(options);
  length.Learn(Saw({100, 3}));
  EXPECT_EQ(length.lead_in_ns(), 100 * kNsPerMs) << "20 of 100 visits in 500 ms";
  length.Learn(Saw({10}));
  EXPECT_EQ(length.lead_in_ns(), 125 * kNsPerMs);
  length.Learn(Saw({0}));
  EXPECT_EQ(length.lead_in_ns(), options.lead_in_ns);
  length.Grow(8 * kNsPerSecond);
  length.Learn(Saw({1}));
  EXPECT_EQ(length.lead_in_ns(), options.lease_ns / 2);
}

TEST(ExperimentLengthTest, LeadInIsShortAgainWhereVisitsAreMany) {
  ExperimentLength length((SchedulerOptions()));
  length.Learn(Saw({10}));
  length.Learn(Saw({20000}));
  EXPECT_EQ(length.lead_in_ns(), 10 * kNsPerMs);
}

TEST(ExperimentLengthTest, LeadInLastsSomeSamplingPeriods) {
  SchedulerOptions options;
  options.sampling_period_ns = 4 * kNsPerMs;
  ExperimentLength length(options);
  length.Learn(Saw({20000}));
  EXPECT_EQ(length.lead_in_ns(), 16 * kNsPerMs);
  EXPECT_EQ(length.cooloff_ns(), options.cooloff_ns);
}

}  // namespace
}  // namespace coz::experiment
