#include "coz/report/analysis/analysis.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/quoted_gain.h"
#include "coz/report/format/profile.pb.h"
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

Analysis AnalyzeOf(const profile::Profile& profile, const AnalysisOptions& options = {}) {
  return Analyze(profile, BuildExperimentTable(profile), options);
}

// Ten speedups and four baselines, all of line 0.
void AddSweep(SyntheticProfile* made, size_t line = 0) {
  for (int i = 0; i < 4; ++i) made->AddExperiment(line, 0);
  for (int i = 1; i <= 10; ++i) made->AddExperiment(line, 0.1 * i);
}

TEST(AnalysisTest, LinesAreRankedBySlope) {
  SyntheticProfile made(
      {}, {Line(1, 0.2, 0.05), Line(2, 0.3, 0.6), Line(3, 0.3, -0.4), Line(4, 0.15, 0.3)});
  made.AddRandomExperiments(300);
  const Analysis analysis = AnalyzeOf(made.profile());
  ASSERT_EQ(analysis.points.size(), 1u);
  const std::vector<LineAnalysis>& lines = analysis.points[0].lines;
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].unit, 1u);
  EXPECT_EQ(lines[1].unit, 3u);
  EXPECT_EQ(lines[2].unit, 0u);
  EXPECT_EQ(lines[3].unit, 2u);
  EXPECT_NEAR(lines[0].slope.value, 0.6, 0.03);
  EXPECT_NEAR(lines[3].slope.value, -0.4, 0.03);
  EXPECT_EQ(lines[0].verdict, Verdict::kFaster);
  EXPECT_EQ(lines[2].verdict, Verdict::kNoEffect);
  EXPECT_EQ(lines[3].verdict, Verdict::kSlower);
  // The strongest prediction of a line that slows the program is its largest sure loss.
  EXPECT_GT(lines[0].speedups[lines[0].best].program_speedup.low, 0.5);
  EXPECT_LT(lines[3].speedups[lines[3].best].program_speedup.high, -0.3);
}

TEST(AnalysisTest, SlopesAloneAreTheSameSlopes) {
  SyntheticOptions noisy;
  noisy.noise = 0.1;
  SyntheticProfile made(noisy, {Line(1, 0.5, 0.5), Line(2, 0.3, -0.4), Line(3, 0.2, 0)});
  made.AddRandomExperiments(200);
  AnalysisOptions slopes_only;
  slopes_only.slopes_only = true;
  const Analysis whole = AnalyzeOf(made.profile());
  const Analysis slopes = AnalyzeOf(made.profile(), slopes_only);
  ASSERT_EQ(slopes.points.at(0).lines.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const LineAnalysis& expected = whole.points.at(0).lines.at(i);
    const LineAnalysis& line = slopes.points[0].lines[i];
    EXPECT_EQ(line.unit, expected.unit);
    EXPECT_EQ(line.verdict, expected.verdict);
    EXPECT_EQ(line.slope.low, expected.slope.low);
    EXPECT_EQ(line.slope.high, expected.slope.high);
    EXPECT_EQ(line.statistical_slope.low, expected.statistical_slope.low);
    EXPECT_EQ(line.statistical_slope.high, expected.statistical_slope.high);
    EXPECT_FALSE(expected.speedups.empty());
    EXPECT_TRUE(line.speedups.empty());
    EXPECT_TRUE(line.curve.points.empty());
  }
}

TEST(AnalysisTest, NothingIsClaimedThatTheQuotedGainLeavesOpen) {
  int left_open = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SyntheticOptions noisy;
    noisy.noise = 0.06;
    noisy.seed = seed;
    SyntheticProfile made(noisy, {Line(1, 0.5, 0.07), Line(2, 0.5, -0.07)});
    made.AddRandomExperiments(60);
    const Analysis analysis = AnalyzeOf(made.profile());
    for (const LineAnalysis& line : analysis.points.at(0).lines) {
      const Estimate quoted = QuotedGainOf(line).program_speedup;
      EXPECT_TRUE(line.verdict != Verdict::kFaster || quoted.low > 0) << seed;
      EXPECT_TRUE(line.verdict != Verdict::kSlower || quoted.high < 0) << seed;
      const bool slope_tells = line.q_value <= 0.05 && line.slope.low * line.slope.high > 0;
      left_open += slope_tells && line.verdict == Verdict::kCannotTell ? 1 : 0;
    }
  }
  EXPECT_GT(left_open, 0);
}

TEST(AnalysisTest, UndecidedLinesComeAfterDecidedOnesWhateverTheirSlope) {
  SyntheticOptions noisy;
  noisy.noise = 1.0;
  noisy.session = 2;
  noisy.seed = 9;
  SyntheticProfile steady({}, {Line(1, 0.5, 0.2)});
  AddSweep(&steady);
  SyntheticProfile shaky(noisy, {Line(2, 0.5, 0.5)});
  AddSweep(&shaky);
  profile::Profile both = steady.profile();
  both.MergeFrom(shaky.profile());
  const Analysis analysis = AnalyzeOf(both);
  ASSERT_EQ(analysis.points[0].lines.size(), 2u);
  EXPECT_EQ(analysis.points[0].lines[0].unit, 0u);
  EXPECT_EQ(analysis.points[0].lines[1].verdict, Verdict::kCannotTell);
}

TEST(AnalysisTest, ExperimentsOfOneLineArePooledOverSessions) {
  SyntheticOptions second;
  second.session = 77;
  second.seed = 5;
  SyntheticProfile a({}, {Line(1, 0.5, 0.5)});
  SyntheticProfile b(second, {Line(9, 0.1, 0), Line(1, 0.5, 0.5)});
  AddSweep(&a);
  AddSweep(&b, 1);
  profile::Profile both = a.profile();
  both.MergeFrom(b.profile());
  const Analysis analysis = AnalyzeOf(both);
  ASSERT_EQ(analysis.points.size(), 1u);
  ASSERT_EQ(analysis.points[0].lines.size(), 1u);
  EXPECT_EQ(analysis.points[0].lines[0].baselines, 8);
  EXPECT_EQ(analysis.points[0].lines[0].others, 20);
  EXPECT_EQ(analysis.points[0].lines[0].speedups.size(), 10u);
}

TEST(AnalysisTest, LossThatPausesMayHaveCausedIsNoLoss) {
  // Half of the time is the line's, and 0.9 of half is overslept: a third of that makes 0.15.
  const auto verdict = [](double slope, double overslept_share) {
    SyntheticOptions options;
    options.overslept_share = overslept_share;
    SyntheticProfile made(options, {Line(1, 0.5, slope)});
    for (int i = 0; i < 4; ++i) AddSweep(&made);
    const LineAnalysis line = AnalyzeOf(made.profile()).points[0].lines[0];
    // Nor is it the line's best prediction.
    if (line.verdict == Verdict::kNoEffect) {
      EXPECT_GT(line.speedups[line.best].program_speedup.value, 0.5 * slope);
    }
    return line.verdict;
  };
  EXPECT_EQ(verdict(-0.15, 0), Verdict::kSlower);
  EXPECT_EQ(verdict(-0.15, 0.9), Verdict::kNoEffect);
  EXPECT_EQ(verdict(-0.6, 0.9), Verdict::kSlower);
  EXPECT_EQ(verdict(0.2, 0.9), Verdict::kFaster);
}

TEST(AnalysisTest, LineWithoutBaselineIsSetAside) {
  SyntheticProfile made({}, {Line(1, 0.5, 0.5)});
  for (int i = 1; i <= 10; ++i) made.AddExperiment(0, 0.1 * i);
  const PointAnalysis point = AnalyzeOf(made.profile()).points[0];
  EXPECT_TRUE(point.lines.empty());
  ASSERT_EQ(point.set_aside.size(), 1u);
  EXPECT_EQ(point.set_aside[0].reason, SetAsideReason::kNoBaseline);
}

TEST(AnalysisTest, LineWithTwoSpeedupsIsSetAsideAndLacksOne) {
  SyntheticProfile made({}, {Line(1, 0.5, 0.5)});
  for (int i = 0; i <= 2; ++i) {
    made.AddExperiment(0, 0.2 * i);
    made.AddExperiment(0, 0.2 * i);
  }
  EXPECT_EQ(AnalyzeOf(made.profile()).points[0].set_aside[0].reason, SetAsideReason::kFewSpeedups);
  EXPECT_EQ(AnalyzeOf(made.profile()).points[0].set_aside[0].missing_speedups, 1);
  made.AddExperiment(0, 0.95);
  EXPECT_EQ(AnalyzeOf(made.profile()).points[0].lines.size(), 1u);
}

TEST(AnalysisTest, FixedSpeedupsLowerTheNumberNeeded) {
  SyntheticProfile made({}, {Line(1, 0.5, 0.5)});
  for (int i = 0; i < 6; ++i) made.AddExperiment(0, i % 2 == 0 ? 0 : 0.5);
  EXPECT_TRUE(AnalyzeOf(made.profile()).points[0].lines.empty());
  profile::Options* options = made.profile().mutable_session(0)->mutable_options();
  options->add_fixed_virtual_speedup(0);
  options->add_fixed_virtual_speedup(0.5);
  EXPECT_EQ(AnalyzeOf(made.profile()).points[0].lines.size(), 1u);
}

TEST(AnalysisTest, FewVisitsAtOnePointDoNotSilenceAnother) {
  SyntheticProfile made({}, {Line(1, 0.5, 0.5)});
  AddSweep(&made);
  profile::ProgressPoint* idle = made.profile().add_progress_point();
  idle->set_session(made.options().session);
  idle->set_id(2);
  idle->set_name("startup");
  idle->set_kind(profile::PROGRESS_POINT_KIND_THROUGHPUT);
  for (profile::Experiment& experiment : *made.profile().mutable_experiment()) {
    profile::PointCounts* counts = experiment.add_point();
    counts->set_point(2);
    counts->set_visits(4);
  }
  const Analysis analysis = AnalyzeOf(made.profile());
  ASSERT_EQ(analysis.points.size(), 2u);
  EXPECT_EQ(analysis.points[0].lines.size(), 1u);
  EXPECT_EQ(analysis.points[0].low_visit_experiments, 0);
  EXPECT_EQ(analysis.points[1].low_visit_experiments, 14);
  EXPECT_EQ(analysis.points[1].set_aside[0].reason, SetAsideReason::kFewVisits);
}

TEST(AnalysisTest, TaintedExperimentsAreNotUsed) {
  SyntheticProfile made({}, {Line(1, 0.5, 0.5)});
  AddSweep(&made);
  made.AddExperiment(0, 0.5);
  profile::Experiment* last = made.profile().mutable_experiment(14);
  last->set_effective_duration_ns(last->effective_duration_ns() * 100);
  last->mutable_validity()->add_taint()->set_reason(profile::Taint::OWED_DELAY);
  const Analysis analysis = AnalyzeOf(made.profile());
  EXPECT_EQ(analysis.tainted, 1);
  EXPECT_EQ(analysis.taints_by_reason[profile::Taint::OWED_DELAY], 1);
  EXPECT_EQ(analysis.points[0].lines[0].others, 10);
  EXPECT_NEAR(analysis.points[0].lines[0].slope.value, 0.5, 0.05);
}

TEST(AnalysisTest, LatencyFollowsLittlesLaw) {
  SyntheticOptions options;
  options.kind = profile::PROGRESS_POINT_KIND_LATENCY;
  SyntheticProfile made(options, {Line(1, 0.2, 0.6)});
  AddSweep(&made);
  const LineAnalysis line = AnalyzeOf(made.profile()).points[0].lines.at(0);
  // Shorter latency is a gain: the sign is that of throughput.
  EXPECT_NEAR(line.slope.value, 0.6, 0.05);
  EXPECT_EQ(line.verdict, Verdict::kFaster);
}

TEST(AnalysisTest, EndToEndRunsCountWithOneVisitEach) {
  profile::Profile all;
  int run = 0;
  for (double s : {0.0, 0.0, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0}) {
    SyntheticOptions options;
    options.session = static_cast<uint64_t>(++run);
    options.seed = options.session;
    options.noise = 0.001;
    options.kind = profile::PROGRESS_POINT_KIND_END_TO_END;
    SyntheticProfile made(options, {Line(1, 0.5, 0.5)});
    made.AddExperiment(0, s);
    profile::Experiment* experiment = made.profile().mutable_experiment(0);
    experiment->mutable_point(0)->set_visits(1);
    experiment->set_effective_duration_ns(static_cast<uint64_t>(1e9 * (1 - 0.5 * s)));
    all.MergeFrom(made.profile());
  }
  EXPECT_NEAR(AnalyzeOf(all).points[0].lines.at(0).slope.value, 0.5, 0.001);
}

// In half of the run the line is active and worth 0.8. In the other half it does not run, and
// visits take twice as long.
profile::Profile TwoPhases() {
  SyntheticOptions slow;
  slow.session = 2;
  slow.seed = 3;
  slow.ns_per_visit = 2'000'000;
  SyntheticProfile a({}, {Line(1, 0.8, 0.8), Line(2, 0.01, 0)});
  SyntheticProfile b(slow, {Line(1, 0, 0), Line(2, 0.9, 0.5)});
  for (int i = 0; i < 5; ++i) AddSweep(&a);
  for (int i = 0; i < 5; ++i) AddSweep(&b, 1);
  profile::Profile both = a.profile();
  both.MergeFrom(b.profile());
  return both;
}

TEST(AnalysisTest, PhaseCorrectionCountsEffectOnlyWhileLineIsActive) {
  const PointAnalysis point = AnalyzeOf(TwoPhases()).points[0];
  const LineAnalysis& line = point.lines.at(0).unit == 0 ? point.lines[0] : point.lines.at(1);
  ASSERT_EQ(line.unit, 0u);
  EXPECT_NEAR(line.slope_while_active.value, 0.8, 0.02);
  EXPECT_NEAR(line.phase_factor, 0.5, 0.15);
  EXPECT_NEAR(line.slope.value, line.slope_while_active.value * line.phase_factor, 1e-9);
  EXPECT_GT(line.slope.high - line.slope.low, 0);
}

// Two baselines of the line, and one of the other phase, tell of a phase, but not surely.
TEST(AnalysisTest, PhasesThatFewBaselinesTellAreInTheInterval) {
  SyntheticOptions slow;
  slow.session = 2;
  slow.ns_per_visit = 2'000'000;
  SyntheticProfile a({}, {Line(1, 0.8, 0.8), Line(2, 0.01, 0)});
  SyntheticProfile b(slow, {Line(1, 0, 0), Line(2, 0.9, 0.5)});
  for (const double speedup : {0.0, 0.2, 0.4, 0.6, 0.8}) a.AddExperiment(0, speedup);
  for (int i = 0; i < 2; ++i) {
    for (const double speedup : {0.0, 0.2, 0.4, 0.6, 0.8}) b.AddExperiment(1, speedup);
  }
  profile::Profile both = a.profile();
  both.MergeFrom(b.profile());
  const PointAnalysis point = AnalyzeOf(both).points[0];
  const auto line = std::find_if(point.lines.begin(), point.lines.end(),
                                 [](const LineAnalysis& of) { return of.unit == 0; });
  ASSERT_NE(line, point.lines.end());
  EXPECT_EQ(line->phase_factor, 1);
  EXPECT_NEAR(line->slope.value, 0.8, 0.05);
  EXPECT_LT(line->slope.low, 0.8 / 2) << "it is active in a third of the run";
  EXPECT_LT(line->slope.high, 1);
}

TEST(AnalysisTest, BaselinesOfPhasesWithoutTheLineDoNotMixIn) {
  const PointAnalysis point = AnalyzeOf(TwoPhases()).points[0];
  for (const LineAnalysis& line : point.lines) {
    if (line.unit == 0) {
      EXPECT_EQ(line.pooled_baselines, 0);
    } else {
      // It had a few samples in the fast phase too: its baselines there hardly count.
      EXPECT_NEAR(line.slope_while_active.value, 0.5, 0.05);
    }
  }
}

TEST(AnalysisTest, NoPhaseCorrectionInASteadyProgram) {
  SyntheticProfile made({}, {Line(1, 0.4, 0.4), Line(2, 0.3, 0.2), Line(3, 0.01, 0)});
  made.AddRandomExperiments(400);
  const Analysis analysis = AnalyzeOf(made.profile());
  for (const LineAnalysis& line : analysis.points[0].lines) {
    EXPECT_EQ(line.phase_factor, 1) << line.unit;
  }
}

TEST(AnalysisTest, OtherLinesBaselinesNarrowTheInterval) {
  SyntheticOptions options;
  options.noise = 0.05;
  SyntheticProfile alone(options, {Line(1, 0.4, 0.4), Line(2, 0.3, 0.2)});
  AddSweep(&alone);
  SyntheticProfile pooled(options, {Line(1, 0.4, 0.4), Line(2, 0.3, 0.2)});
  AddSweep(&pooled);
  for (int i = 0; i < 60; ++i) pooled.AddExperiment(1, 0);
  const Estimate a = AnalyzeOf(alone.profile()).points[0].lines.at(0).slope;
  const LineAnalysis line = AnalyzeOf(pooled.profile()).points[0].lines.at(0);
  EXPECT_EQ(line.pooled_baselines, 60);
  EXPECT_LT(line.slope.high - line.slope.low, a.high - a.low);
}

// Counts how often intervals hold the truth. These profiles have no error but chance, so the
// intervals of chance alone are counted.
struct Coverage {
  int covered = 0;
  int all = 0;

  void Add(const Estimate& estimate, double truth) {
    covered += estimate.low <= truth && truth <= estimate.high ? 1 : 0;
    ++all;
  }
  double share() const { return static_cast<double>(covered) / all; }
};

const std::vector<SyntheticLine>& Truth() {
  static const auto* const truth =
      new std::vector<SyntheticLine>{Line(1, 0.4, 0.5), Line(2, 0.3, 0), Line(3, 0.2, 0.2)};
  return *truth;
}

double RandomSpeedup(std::mt19937_64& random) {
  return random() % 4 == 0 ? 0 : 0.05 * static_cast<double>(random() % 20 + 1);
}

// Over `rounds` profiles that `make` makes from a seed.
template <typename Make>
Coverage CoverageOver(int rounds, Make make) {
  Coverage coverage;
  for (int seed = 1; seed <= rounds; ++seed) {
    const Analysis analysis = AnalyzeOf(make(static_cast<uint64_t>(seed)));
    for (const LineAnalysis& line : analysis.points[0].lines) {
      coverage.Add(line.statistical_slope, Truth()[line.unit].slope);
    }
  }
  ::testing::Test::RecordProperty("coverage", std::to_string(coverage.share()));
  return coverage;
}

#define EXPECT_COVERAGE_95(coverage)     \
  do {                                   \
    EXPECT_GE((coverage).share(), 0.93); \
    EXPECT_LE((coverage).share(), 0.97); \
  } while (false)

TEST(AnalysisTest, IntervalsCoverTruthThroughTheWholePath) {
  EXPECT_COVERAGE_95(CoverageOver(300, [](uint64_t seed) {
    SyntheticOptions options;
    options.seed = seed;
    options.noise = 0.05;
    SyntheticProfile made(options, Truth());
    made.AddRandomExperiments(120);
    return made.profile();
  }));
}

TEST(AnalysisTest, IntervalsCoverTruthOfAProgramThatDrifts) {
  EXPECT_COVERAGE_95(CoverageOver(300, [](uint64_t seed) {
    SyntheticOptions options;
    options.seed = seed;
    options.noise = 0.05;
    options.drift = [](double s) { return 1 + s / 100 + 0.2 * std::sin(s / 10); };
    SyntheticProfile made(options, Truth());
    made.AddRandomExperiments(240);
    return made.profile();
  }));
}

// A line that runs only late in a program that gets slower all the time: baselines from before it
// ran would make it look bad.
TEST(AnalysisTest, LinesThatRunLateAreComparedWithLateBaselines) {
  EXPECT_COVERAGE_95(CoverageOver(300, [](uint64_t seed) {
    SyntheticOptions options;
    options.seed = seed;
    options.noise = 0.05;
    options.drift = [](double s) { return 1 + s / 200; };
    SyntheticProfile made(options, Truth());
    for (int i = 0; i < 120; ++i) made.AddExperiment(1, RandomSpeedup(made.random()));
    for (int i = 0; i < 60; ++i) made.AddExperiment(0, RandomSpeedup(made.random()));
    return made.profile();
  }));
}

// Two runs on machines of different speed in one file, which try different lines.
TEST(AnalysisTest, IntervalsCoverTruthOfPooledSessions) {
  EXPECT_COVERAGE_95(CoverageOver(300, [](uint64_t seed) {
    profile::Profile all;
    for (int run = 0; run < 3; ++run) {
      SyntheticOptions options;
      options.session = static_cast<uint64_t>(run + 1);
      options.seed = seed * 3 + static_cast<uint64_t>(run);
      options.noise = 0.05;
      options.ns_per_visit = 1'000'000 * (1 + 0.7 * run);
      options.drift = [](double s) { return 1 + s / 200; };
      SyntheticProfile made(options, Truth());
      for (int i = 0; i < 40; ++i) {
        const auto line = static_cast<size_t>(i % 3 == 0 ? i / 3 % 3 : run);
        made.AddExperiment(line, RandomSpeedup(made.random()));
      }
      all.MergeFrom(made.profile());
    }
    return all;
  }));
}

// Runs of four experiments of a program that is not as fast in each of them.
profile::Profile ShortRuns(uint64_t seed, int runs) {
  profile::Profile all;
  for (int run = 0; run < runs; ++run) {
    SyntheticOptions options;
    options.session = static_cast<uint64_t>(run + 1);
    options.seed = seed * 100 + static_cast<uint64_t>(run);
    options.noise = 0.03;
    std::mt19937_64 random(options.seed);
    options.ns_per_visit *= std::normal_distribution(1.0, 0.03)(random);
    SyntheticProfile made(options, Truth());
    made.AddRandomExperiments(4);
    profile::Session* session = made.profile().mutable_session(0);
    session->set_start_unix_ns(session->start_unix_ns() + static_cast<uint64_t>(run) * 3'000'000);
    all.MergeFrom(made.profile());
  }
  return all;
}

TEST(AnalysisTest, IntervalsCoverTruthOfShortRuns) {
  EXPECT_COVERAGE_95(CoverageOver(300, [](uint64_t seed) { return ShortRuns(seed, 40); }));
}

TEST(AnalysisTest, ShortRunsAreComparedTogether) {
  const Analysis analysis = AnalyzeOf(ShortRuns(1, 40));
  ASSERT_FALSE(analysis.points[0].lines.empty());
  for (const LineAnalysis& line : analysis.points[0].lines) {
    int compared = 0;
    for (const SpeedupEstimate& estimate : line.speedups) compared += estimate.experiments;
    EXPECT_EQ(compared, line.others - line.outliers);
  }
}

TEST(AnalysisTest, RunsOfOtherArgumentsAreNotCompared) {
  profile::Profile two = ShortRuns(1, 2);
  // The first run has the baselines, the second the speedups.
  for (int i = 0; i < two.experiment_size(); ++i) {
    two.mutable_experiment(i)->set_selected_unit(1);
    two.mutable_experiment(i)->set_virtual_speedup(i < 4 ? 0 : 0.2 * (i - 3));
    two.mutable_experiment(i)->set_achieved_virtual_speedup(i < 4 ? 0 : 0.2 * (i - 3));
  }
  EXPECT_EQ(AnalyzeOf(two).points[0].lines.size(), 1u);
  two.mutable_session(1)->add_command("--other");
  EXPECT_EQ(AnalyzeOf(two).points[0].lines.size(), 0u);
}

TEST(AnalysisTest, SlopeIsOverWhatWasAchieved) {
  const auto make = [](uint64_t seed) {
    SyntheticOptions options;
    options.seed = seed;
    options.noise = 0.05;
    options.achieved_share = 0.7;
    SyntheticProfile made(options, Truth());
    made.AddRandomExperiments(120);
    return made.profile();
  };
  EXPECT_COVERAGE_95(CoverageOver(300, make));
  const SpeedupEstimate speedup = AnalyzeOf(make(1)).points.at(0).lines.at(0).speedups.at(3);
  EXPECT_NEAR(speedup.achieved_virtual_speedup, 0.7 * speedup.virtual_speedup, 1e-9);
}

TEST(AnalysisTest, DelayBesideOtherProgramsTakesAsMuchLongerAsWork) {
  const auto make = [](uint64_t seed) {
    SyntheticOptions options;
    options.seed = seed;
    options.noise = 0.05;
    options.share_left = 0.6;
    SyntheticProfile made(options, Truth());
    made.AddRandomExperiments(120);
    return made.profile();
  };
  EXPECT_COVERAGE_95(CoverageOver(300, make));
}

TEST(AnalysisTest, OnlyCpuTimeCountsBelowAQuotaThatIsUsedUp) {
  SyntheticProfile made({}, {Line(1, 0.5, 0.5)});
  AddSweep(&made);
  for (profile::Experiment& experiment : *made.profile().mutable_experiment()) {
    profile::Validity& validity = *experiment.mutable_validity();
    validity.set_quota_periods(5);
    validity.set_quota_throttled_periods(5);
    validity.set_quota_allowed_ns(experiment.elapsed_ns() / 2);
    validity.set_quota_used_ns(experiment.elapsed_ns() / 2);
    // Half of what was inserted: the line had a quarter of the CPU time.
    validity.set_imposed_ns(experiment.inserted_delay_ns() / 4);
  }
  EXPECT_NEAR(AnalyzeOf(made.profile()).points[0].lines.at(0).slope.value, 0.25, 0.03);
}

// As where few samples of a CPU timer tell what the delay was for.
TEST(AnalysisTest, NoiseOfAchievedSpeedupsMakesNoSlopeSmaller) {
  SyntheticProfile made({}, {Line(1, 0.5, 0.5)});
  AddSweep(&made);
  for (profile::Experiment& experiment : *made.profile().mutable_experiment()) {
    const bool is_high = experiment.index() % 2 == 0;
    experiment.set_achieved_virtual_speedup(experiment.virtual_speedup() * (is_high ? 1.5 : 0.5));
    experiment.set_selected_samples(100);
  }
  EXPECT_NEAR(AnalyzeOf(made.profile()).points[0].lines.at(0).slope.value, 0.5, 0.05);
}

TEST(AnalysisTest, AchievedSpeedupsThatAreNotKnownAreTakenForNominal) {
  SyntheticProfile made({}, {Line(1, 0.5, 0.5)});
  AddSweep(&made);
  for (profile::Experiment& experiment : *made.profile().mutable_experiment()) {
    experiment.set_achieved_virtual_speedup(experiment.index() % 2 == 0 ? 0 : std::nan(""));
  }
  EXPECT_NEAR(AnalyzeOf(made.profile()).points[0].lines.at(0).slope.value, 0.5, 0.05);
}

// 40 lines, most of them without effect: what the verdicts are worth when so many are looked at,
// and what choosing the lines by their verdict does to the coverage of their intervals.
TEST(AnalysisTest, FalseDiscoveriesStayBelowFivePercent) {
  double false_share = 0;
  int found = 0;
  int uncorrected = 0;
  Coverage all_lines;
  Coverage chosen;
  constexpr int kRounds = 100;
  std::vector<SyntheticLine> lines;
  for (uint32_t i = 0; i < 40; ++i) lines.push_back(Line(i + 1, 0.024, i < 8 ? 0.05 * (i + 1) : 0));
  for (int seed = 1; seed <= kRounds; ++seed) {
    SyntheticOptions options;
    options.seed = static_cast<uint64_t>(seed);
    options.noise = 0.1;
    options.drift = [](double s) { return 1 + s / 400; };
    SyntheticProfile made(options, lines);
    made.AddRandomExperiments(1000);
    // The lines bring more than their CPU time allows.
    for (profile::Experiment& one : *made.profile().mutable_experiment()) {
      one.mutable_validity()->clear_cpus();
    }
    AnalysisOptions analysis_options;
    analysis_options.no_effect_slope = 0;  // so that each interval away from 0 would be a finding
    const Analysis analysis = AnalyzeOf(made.profile(), analysis_options);
    int false_found = 0;
    int round_found = 0;
    for (const LineAnalysis& line : analysis.points[0].lines) {
      const double truth = lines[line.unit].slope;
      const Estimate& chance = line.statistical_slope;
      all_lines.Add(chance, truth);
      uncorrected += truth == 0 && (chance.low > 0 || chance.high < 0) ? 1 : 0;
      if (line.verdict != Verdict::kFaster && line.verdict != Verdict::kSlower) continue;
      ++round_found;
      false_found += truth == 0 ? 1 : 0;
      chosen.Add(line.slope, truth);
    }
    found += round_found;
    false_share += round_found == 0 ? 0 : static_cast<double>(false_found) / round_found;
  }
  RecordProperty("false_share", std::to_string(false_share / kRounds));
  RecordProperty("found_each_round", std::to_string(static_cast<double>(found) / kRounds));
  RecordProperty("false_each_round_uncorrected",
                 std::to_string(static_cast<double>(uncorrected) / kRounds));
  RecordProperty("coverage_all", std::to_string(all_lines.share()));
  RecordProperty("coverage_chosen", std::to_string(chosen.share()));
  EXPECT_LE(false_share / kRounds, 0.05);
  EXPECT_GE(static_cast<double>(found) / kRounds, 3);
  EXPECT_GE(uncorrected, kRounds);  // without correction: more than one in each report
  EXPECT_COVERAGE_95(all_lines);
  EXPECT_GE(chosen.share(), 0.88);
}

// A neighbour on the machine has taken its CPU for a moment.
TEST(AnalysisTest, AnExperimentThatWasSpoiltFromOutsideIsLeftOut) {
  SyntheticOptions options;
  options.noise = 0.005;
  SyntheticProfile made(options, {Line(1, 0.5, 0.5)});
  for (int i = 0; i < 3; ++i) AddSweep(&made);
  const LineAnalysis before = AnalyzeOf(made.profile()).points.at(0).lines.at(0);
  EXPECT_EQ(before.outliers, 0);
  profile::Experiment* baseline = made.profile().mutable_experiment(1);
  ASSERT_EQ(baseline->virtual_speedup(), 0);
  profile::PointCounts* counts = baseline->mutable_point(0);
  counts->set_visits(counts->visits() / 2);
  const LineAnalysis after = AnalyzeOf(made.profile()).points.at(0).lines.at(0);
  EXPECT_EQ(after.outliers, 1);
  EXPECT_EQ(after.baselines, before.baselines) << "it was made all the same";
  EXPECT_NEAR(after.slope.value, before.slope.value, 0.005);
  EXPECT_LT(after.slope.high - after.slope.low, 1.2 * (before.slope.high - before.slope.low));
}

TEST(AnalysisTest, EmptyProfileHasNoPoints) { EXPECT_TRUE(AnalyzeOf({}).points.empty()); }

}  // namespace
}  // namespace coz::report
