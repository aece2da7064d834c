// Which unit and which speedup the next experiment has.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "coz/base/clock.h"
#include "coz/experiment/testing/scheduler_fixture.h"
#include "gtest/gtest.h"

namespace coz::experiment {
namespace {

TEST_F(SchedulerTest, SpeedupsAreAQuarterBaselinesAndElseUniform) {
  options_.min_experiment_ns = 20 * kNsPerMs;
  options_.look_ns = 20 * kNsPerMs;
  RunFor(300 * kNsPerSecond);
  std::map<int, double> counts;
  for (const FakeSink::Start& start : sink_.starts) {
    ++counts[static_cast<int>(std::lround(start.virtual_speedup * 100))];
  }
  ASSERT_EQ(counts.size(), 21u);
  const double total = static_cast<double>(sink_.starts.size());
  ASSERT_GT(total, 4500);
  double chi_square = 0;
  for (const auto& [percent, count] : counts) {
    EXPECT_EQ(percent % 5, 0);
    const double expected = total * (percent == 0 ? 0.25 : 0.75 / 20);
    chi_square += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LT(chi_square, 45.3);  // 20 degrees of freedom, 1 in 1000
}

TEST_F(SchedulerTest, UnitsAreDrawnByTheirSharesOfSamplesThroughoutTheRun) {
  target_.unit_shares = {0.7, 0.2, 0.1};
  options_.min_experiment_ns = 20 * kNsPerMs;
  RunFor(300 * kNsPerSecond);
  const size_t total = sink_.starts.size();
  for (const size_t begin : {size_t{0}, total / 2}) {  // an early result drops no unit later
    std::vector<double> counts(3);
    for (size_t i = begin; i < begin + total / 2; ++i) ++counts[sink_.starts[i].unit];
    EXPECT_NEAR(counts[0] / (total / 2.0), 0.7, 0.03);
    EXPECT_NEAR(counts[2] / (total / 2.0), 0.1, 0.03);
  }
}

TEST_F(SchedulerTest, SameSeedRepeatsTheRun) {
  target_.unit_shares = {0.5, 0.5};
  RunFor(60 * kNsPerSecond);
  FakeTarget target;
  target.program = target_.program;
  target.unit_shares = target_.unit_shares;
  FakeSink sink;
  Scheduler scheduler(options_, &target, &sink);
  StepUntil(scheduler, target, 60 * kNsPerSecond);
  ASSERT_EQ(sink.records.size(), sink_.records.size());
  for (size_t i = 0; i < sink.records.size(); ++i) {
    EXPECT_EQ(sink.records[i].unit, sink_.records[i].unit);
    EXPECT_EQ(sink.records[i].virtual_speedup, sink_.records[i].virtual_speedup);
    EXPECT_EQ(sink.records[i].elapsed_ns, sink_.records[i].elapsed_ns);
    EXPECT_EQ(sink.records[i].points[0].visits, sink_.records[i].points[0].visits);
  }
  EXPECT_EQ(scheduler.seed(), 1u);
}

TEST_F(SchedulerTest, OtherSeedsGiveOtherRunsAndTheDrawnSeedIsTold) {
  options_.seed.reset();
  options_.min_experiment_ns = 20 * kNsPerMs;
  RunFor(10 * kNsPerSecond);
  const std::vector<FakeSink::Start> starts = sink_.starts;
  sink_ = FakeSink();
  target_ = FakeTarget();
  target_.program = {{1000}};
  options_.seed = scheduler_->seed();
  Make();
  RunFor(10 * kNsPerSecond);
  ASSERT_EQ(starts.size(), sink_.starts.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    EXPECT_EQ(starts[i].virtual_speedup, sink_.starts[i].virtual_speedup);
  }
  options_.seed = *options_.seed + 1;
  sink_ = FakeSink();
  target_ = FakeTarget();
  target_.program = {{1000}};
  Make();
  RunFor(10 * kNsPerSecond);
  size_t equal = 0;
  for (size_t i = 0; i < std::min(starts.size(), sink_.starts.size()); ++i) {
    equal += starts[i].virtual_speedup == sink_.starts[i].virtual_speedup;
  }
  EXPECT_LT(equal, starts.size() / 2);
}

TEST_F(SchedulerTest, FocusGetsItsShareAndLeavesEveryUnitItsChance) {
  target_.unit_shares = {0.8, 0.1, 0.1};
  options_.min_experiment_ns = 20 * kNsPerMs;
  options_.uniform_share = 0.5;
  Make().Focus({{1, 3.0}, {2, 1.0}});
  RunFor(100 * kNsPerSecond);
  std::vector<double> counts(3);
  for (const FakeSink::Start& start : sink_.starts) ++counts[start.unit];
  const double total = static_cast<double>(sink_.starts.size());
  // Half by samples, half by focus.
  EXPECT_NEAR(counts[0] / total, 0.4, 0.03);
  EXPECT_NEAR(counts[1] / total, 0.05 + 0.375, 0.03);
  EXPECT_NEAR(counts[2] / total, 0.05 + 0.125, 0.03);
  // Baselines keep their share within the focus too.
  double baselines = 0;
  for (const FakeSink::Start& start : sink_.starts) {
    baselines += start.unit == 1 && start.virtual_speedup == 0 ? 1 : 0;
  }
  EXPECT_NEAR(baselines / counts[1], 0.25, 0.01);
}

TEST_F(SchedulerTest, AnEmptyFocusChangesNoChoice) {
  target_.unit_shares = {0.5, 0.5};
  RunFor(30 * kNsPerSecond);
  FakeTarget target;
  target.program = target_.program;
  target.unit_shares = target_.unit_shares;
  FakeSink sink;
  Scheduler again(options_, &target, &sink);
  again.Focus({{1, 1.0}});
  again.Focus({});
  StepUntil(again, target, 30 * kNsPerSecond);
  ASSERT_EQ(sink.starts.size(), sink_.starts.size());
  for (size_t i = 0; i < sink.starts.size(); ++i) {
    EXPECT_EQ(sink.starts[i].unit, sink_.starts[i].unit);
  }
}

TEST_F(SchedulerTest, OnlyTheFixedUnitIsSelected) {
  target_.unit_shares = {0.9, 0.05, 0.05};
  options_.fixed_units = {2};
  RunFor(10 * kNsPerSecond);
  ASSERT_GT(sink_.starts.size(), 10u);
  for (const FakeSink::Start& start : sink_.starts) EXPECT_EQ(start.unit, 2u);
}

TEST_F(SchedulerTest, ZeroInAListLeavesBaselinesTheirShare) {
  options_.min_experiment_ns = 20 * kNsPerMs;
  options_.fixed_units = {0};
  options_.fixed_speedups = {0};
  for (int percent = 10; percent <= 50; percent += 5) {
    options_.fixed_speedups.push_back(percent / 100.0);
  }
  RunFor(60 * kNsPerSecond);
  std::map<double, double> shares;
  for (const FakeSink::Start& start : sink_.starts) {
    shares[start.virtual_speedup] += 1.0 / static_cast<double>(sink_.starts.size());
  }
  ASSERT_EQ(shares.size(), 10u);
  EXPECT_NEAR(shares[0], 0.25, 0.01);  // not a tenth
  EXPECT_NEAR(shares[0.5], 0.75 / 9, 0.01);
}

TEST_F(SchedulerTest, ZeroInAShortListHasItsPartOfIt) {
  options_.min_experiment_ns = 20 * kNsPerMs;
  options_.fixed_units = {0};
  options_.fixed_speedups = {0, 0.75};
  RunFor(60 * kNsPerSecond);
  double baselines = 0;
  for (const FakeSink::Start& start : sink_.starts) {
    baselines += start.virtual_speedup == 0 ? 1.0 / static_cast<double>(sink_.starts.size()) : 0;
  }
  EXPECT_NEAR(baselines, 0.5, 0.01);
}

TEST_F(SchedulerTest, ListOfZeroAloneIsAllBaselines) {
  options_.min_experiment_ns = 20 * kNsPerMs;
  options_.fixed_speedups = {0};
  RunFor(5 * kNsPerSecond);
  ASSERT_FALSE(sink_.starts.empty());
  for (const FakeSink::Start& start : sink_.starts) EXPECT_EQ(start.virtual_speedup, 0);
}

TEST_F(SchedulerTest, FixedSpeedupsKeepTheirBaseline) {
  options_.fixed_speedups = {0.3, 0.7};
  options_.min_experiment_ns = 20 * kNsPerMs;
  RunFor(60 * kNsPerSecond);
  std::map<double, double> shares;
  for (const FakeSink::Start& start : sink_.starts) {
    shares[start.virtual_speedup] += 1.0 / static_cast<double>(sink_.starts.size());
  }
  ASSERT_EQ(shares.size(), 3u);
  EXPECT_NEAR(shares[0], 0.25, 0.04);
  EXPECT_NEAR(shares[0.3], 0.375, 0.04);
  EXPECT_EQ(target_.selections[0].delay_per_sample_ns,
            static_cast<uint64_t>(std::llround(sink_.starts[0].virtual_speedup * 1e6)));
}

}  // namespace
}  // namespace coz::experiment
