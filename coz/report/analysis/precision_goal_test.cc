#include "coz/report/analysis/precision_goal.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using report_testing::SyntheticLine;
using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

SyntheticLine Line(uint32_t line, double share, double slope) {
  return {"/src/app/work.cc", line, "Work()", share, slope, {}};
}

PrecisionState Judge(const profile::Profile& profile, const PrecisionGoal& goal) {
  const ExperimentTable table = BuildExperimentTable(profile);
  AnalysisOptions options;
  options.slopes_only = true;
  return JudgePrecision(table, Analyze(profile, table, options), goal);
}

// What `coz run --until` does, without a program: returns the number of experiments made. After the
// first ones it looks each time that there are 2.5 % more, for looks get dear and tell little new.
int RunUntil(SyntheticProfile* made, const PrecisionGoal& goal, int most, bool focused = true) {
  constexpr int kEachNew = 40;
  PrecisionState state;
  int experiments = 0;
  int next_look = 1;
  while (!state.reached && experiments < most) {
    std::vector<double> weights;
    for (const OpenUnit& open : state.open) weights.push_back(DrawWeight(open));
    std::uniform_real_distribution<double> fraction(0, 1);
    if (!focused || weights.empty() || fraction(made->random()) < goal.uniform_share) {
      made->AddRandomExperiments(1);
    } else {
      const size_t pick =
          std::discrete_distribution<size_t>(weights.begin(), weights.end())(made->random());
      const bool baseline = made->random()() % 4 == 0;
      const double speedup = 0.05 * static_cast<double>(made->random()() % 20 + 1);
      made->AddExperiment(state.open[pick].unit, baseline ? 0 : speedup);
    }
    ++experiments;
    if (experiments < next_look && experiments < most) continue;
    state = Judge(made->profile(), goal);
    next_look = experiments + std::max(1, experiments / kEachNew);
  }
  return experiments;
}

const std::vector<SyntheticLine>& Lines() {
  static const auto* const lines = new std::vector<SyntheticLine>{
      Line(1, 0.5, 0.5), Line(2, 0.2, 0.3), Line(3, 0.05, 0.2), Line(4, 0.2, 0), Line(5, 0.01, 0)};
  return *lines;
}

SyntheticOptions Noisy(uint64_t seed) {
  SyntheticOptions options;
  options.seed = seed;
  options.noise = 0.1;
  return options;
}

TEST(PrecisionGoalTest, NothingIsNotEnough) {
  EXPECT_FALSE(Judge({}, {}).reached);
  SyntheticProfile made({}, Lines());
  made.AddRandomExperiments(2);
  const PrecisionState state = Judge(made.profile(), {});
  EXPECT_FALSE(state.reached);
  EXPECT_TRUE(std::isinf(state.width));
  EXPECT_FALSE(state.open.empty());
  EXPECT_GT(state.remaining_ns, 0u);
}

TEST(PrecisionGoalTest, ReachedWhenTheLinesThatMatterAreNarrow) {
  SyntheticProfile made(Noisy(1), Lines());
  PrecisionGoal goal;
  goal.width = 0.2;
  EXPECT_LT(RunUntil(&made, goal, 2000), 2000);
  const PrecisionState state = Judge(made.profile(), goal);
  EXPECT_TRUE(state.reached);
  EXPECT_LE(state.width, goal.width);
  EXPECT_EQ(state.remaining_ns, 0u);
  const ExperimentTable table = BuildExperimentTable(made.profile());
  const Analysis analysis = Analyze(made.profile(), table);
  for (const LineAnalysis& line : analysis.points.at(0).lines) {
    if (line.verdict == Verdict::kNoEffect) continue;
    const Estimate& slope = line.statistical_slope;
    EXPECT_LE(slope.high - slope.low, goal.width) << table.units[line.unit].Name();
  }
}

TEST(PrecisionGoalTest, ANarrowerGoalTakesLonger) {
  SyntheticProfile wide(Noisy(2), Lines());
  SyntheticProfile narrow(Noisy(2), Lines());
  PrecisionGoal goal;
  goal.width = 0.3;
  const int few = RunUntil(&wide, goal, 3000);
  goal.width = 0.1;
  EXPECT_GT(RunUntil(&narrow, goal, 3000), 2 * few);
}

TEST(PrecisionGoalTest, FocusOnWideLinesSavesExperiments) {
  int focused = 0;
  int uniform = 0;
  PrecisionGoal goal;
  goal.width = 0.2;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SyntheticProfile a(Noisy(seed), Lines());
    SyntheticProfile b(Noisy(seed), Lines());
    focused += RunUntil(&a, goal, 3000);
    uniform += RunUntil(&b, goal, 3000, false);
  }
  RecordProperty("experiments_focused", focused / 10);
  RecordProperty("experiments_uniform", uniform / 10);
  EXPECT_LT(focused, 0.8 * uniform);
}

TEST(PrecisionGoalTest, RemainingTimeIsOfTheRightOrder) {
  SyntheticProfile made(Noisy(3), Lines());
  PrecisionGoal goal;
  goal.width = 0.15;
  made.AddRandomExperiments(100);
  const double estimate = static_cast<double>(Judge(made.profile(), goal).remaining_ns);
  const double before = static_cast<double>(BuildExperimentTable(made.profile()).run_time_ns);
  RunUntil(&made, goal, 3000);
  const double needed =
      static_cast<double>(BuildExperimentTable(made.profile()).run_time_ns) - before;
  EXPECT_GT(estimate, needed / 3);
  EXPECT_LT(estimate, needed * 3);
}

// An estimate that were bounded would be the same for any width.
TEST(PrecisionGoalTest, HalfTheWidthTakesFourTimesAsLong) {
  SyntheticProfile made(Noisy(3), {Line(1, 0.6, 0.5), Line(2, 0.4, 0.3)});
  made.AddRandomExperiments(100);
  PrecisionGoal goal;
  goal.width = 0.01;
  const PrecisionState narrow = Judge(made.profile(), goal);
  goal.width = 0.005;
  const PrecisionState narrower = Judge(made.profile(), goal);
  EXPECT_NEAR(static_cast<double>(narrower.remaining_ns) / static_cast<double>(narrow.remaining_ns),
              4, 0.1);
  ASSERT_EQ(narrower.open.size(), 2u);
  EXPECT_EQ(DrawWeight(narrower.open[0]), DrawWeight(narrower.open[1]));
}

// By its samples, a line of 2 % has no gain. So experiments go to others.
TEST(PrecisionGoalTest, SmallUnitsAreNotOpen) {
  SyntheticProfile made({}, {Line(1, 0.6, 0.5), Line(2, 0.3, 0.3), Line(3, 0.02, 0)});
  for (int i = 0; i < 40; ++i) made.AddExperiment(0, i % 4 * 0.25);
  PrecisionGoal goal;
  goal.min_share = 0.01;
  const PrecisionState state = Judge(made.profile(), goal);
  ASSERT_EQ(state.open.size(), 1u);
  EXPECT_EQ(state.open[0].unit, 1u);
}

TEST(PrecisionGoalTest, RareUnitsAndThoseWithoutEffectDoNotHoldItUp) {
  SyntheticProfile made({}, {Line(1, 0.9, 0.5), Line(2, 0.05, 0), Line(3, 0.01, 0)});
  for (int i = 0; i < 40; ++i) {
    made.AddExperiment(0, i % 4 == 0 ? 0 : 0.05 * (i % 20 + 1));
    made.AddExperiment(1, i % 4 == 0 ? 0 : 0.05 * (i % 20 + 1));
  }
  EXPECT_TRUE(Judge(made.profile(), {}).reached);
}

struct Coverage {
  int covered = 0;
  int all = 0;
  double Share() const { return static_cast<double>(covered) / all; }
};

// Of the intervals that the report shows after `runs` runs with --until.
Coverage CoverageAtTheEnd(double width, uint64_t runs) {
  Coverage coverage;
  for (uint64_t seed = 1; seed <= runs; ++seed) {
    SyntheticProfile made(Noisy(seed), Lines());
    PrecisionGoal goal;
    goal.width = width;
    RunUntil(&made, goal, 1000);
    const ExperimentTable table = BuildExperimentTable(made.profile());
    const Analysis analysis = Analyze(made.profile(), table);
    for (const LineAnalysis& line : analysis.points.at(0).lines) {
      const double truth = Lines()[table.units[line.unit].line - 1].slope;
      coverage.covered +=
          line.statistical_slope.low <= truth && truth <= line.statistical_slope.high ? 1 : 0;
      ++coverage.all;
    }
  }
  return coverage;
}

// Points of width.
class StoppedCoverageTest : public ::testing::TestWithParam<int> {};

// Stopping when an interval is narrow favours those that are too narrow by luck.
TEST_P(StoppedCoverageTest, Stays) {
  // Each experiment is judged with all before it, so narrow goals take long.
  const Coverage coverage = CoverageAtTheEnd(GetParam() / 100.0, GetParam() >= 15 ? 1000 : 400);
  RecordProperty("intervals", coverage.all);
  RecordProperty("coverage_percent", std::to_string(100 * coverage.Share()));
  EXPECT_GE(coverage.Share(), 0.93);
  EXPECT_LE(coverage.Share(), 0.97);
}

INSTANTIATE_TEST_SUITE_P(Widths, StoppedCoverageTest, ::testing::Values(50, 25, 15, 10));

}  // namespace
}  // namespace coz::report
