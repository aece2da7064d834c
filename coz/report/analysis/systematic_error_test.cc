#include "coz/report/analysis/systematic_error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/statistics.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

double Half(const ErrorFacts& facts, double effect, double speedup) {
  return SystematicErrorOf(facts).HalfWidth(effect, speedup);
}

TEST(SystematicErrorTest, AGoodRunHasTheErrorOfTheMethodAlone) {
  const SystematicError error = SystematicErrorOf({});
  ASSERT_EQ(error.terms.size(), 1u);
  EXPECT_EQ(error.terms[0].cause, ErrorCause::kMethod);
  EXPECT_TRUE(error.doubts.empty());
  EXPECT_DOUBLE_EQ(error.HalfWidth(0.5, 1), kMethodError);
  EXPECT_DOUBLE_EQ(error.HalfWidth(0.1, kLeastStudiedSpeedup), kMethodError);
}

TEST(SystematicErrorTest, NothingIsWrongWithASpeedupOfNothing) {
  ErrorFacts facts;
  facts.crowded_share = 1;
  facts.overslept = 0.5;
  EXPECT_EQ(Half(facts, 0, 0), 0);
  const Estimate at_origin = SystematicErrorOf(facts).Widen({0, 0, 0}, 0);
  EXPECT_EQ(at_origin.low, 0);
  EXPECT_EQ(at_origin.high, 0);
}

TEST(SystematicErrorTest, MissedSpeedupsWidenByWhatTheyMissed) {
  ErrorFacts facts;
  facts.achieved_share = 1.17;
  EXPECT_NEAR(Half(facts, 0.5, 1), std::hypot(kMethodError, 0.17 * 0.5), 1e-12);
  EXPECT_EQ(SystematicErrorOf(facts).doubts, std::vector<ErrorCause>{ErrorCause::kAchieved});
  facts.achieved_share = 2.68;  // the interval holds 0
  EXPECT_GT(Half(facts, 0.5, 1), 0.5);
  facts.achieved_share = 0.83;
  EXPECT_EQ(SystematicErrorOf(facts).doubts.size(), 1u);
  facts.achieved_share = 0.98;
  EXPECT_TRUE(SystematicErrorOf(facts).doubts.empty());
}

TEST(SystematicErrorTest, WhatChanceMakesOfFewSamplesIsNoDoubt) {
  ErrorFacts facts;
  facts.achieved_share = 1.17;
  facts.selected_samples = 100;
  EXPECT_TRUE(SystematicErrorOf(facts).doubts.empty());
  facts.selected_samples = 10'000;
  EXPECT_EQ(SystematicErrorOf(facts).doubts.size(), 1u);
  facts.selected_samples = 100;
  facts.achieved_share = 0.6;
  EXPECT_EQ(SystematicErrorOf(facts).doubts.size(), 1u);
}

TEST(SystematicErrorTest, RoundingOfSumsIsNoCause) {
  ErrorFacts facts;
  facts.achieved_share = 1 - 4.4e-16;
  EXPECT_EQ(SystematicErrorOf(facts).terms.size(), 1u);
  facts.achieved_share = 1 - 1e-6;
  EXPECT_EQ(SystematicErrorOf(facts).terms.size(), 2u);
}

TEST(SystematicErrorTest, SharesWidenByTheirRatioToTheRest) {
  ErrorFacts facts;
  facts.sampling_share = 0.1;
  EXPECT_NEAR(Half(facts, 0.36, 1), std::hypot(kMethodError, 0.04), 1e-12);
  facts.raised = 1.0 / 18;  // to the middle of what may be
  EXPECT_NEAR(Half(facts, 0.36 * 19 / 18, 1), std::hypot(kMethodError, 0.02), 1e-12);
  EXPECT_TRUE(SystematicErrorOf(facts).doubts.empty());
  facts.raised = 0;
  facts.sampling_share = 0;
  facts.unseen_share = 0.2;
  EXPECT_NEAR(Half(facts, -0.4, 1), std::hypot(kMethodError, 0.1), 1e-12);
  EXPECT_EQ(SystematicErrorOf(facts).doubts, std::vector<ErrorCause>{ErrorCause::kClocks});
  facts.unseen_share = 1;
  EXPECT_TRUE(std::isfinite(Half(facts, -0.4, 1)));
}

TEST(SystematicErrorTest, CrowdsWidenByTheShareOfExperimentsThatHadOne) {
  ErrorFacts facts;
  facts.crowded_share = 0.1;
  EXPECT_TRUE(SystematicErrorOf(facts).doubts.empty());
  EXPECT_NEAR(Half(facts, 0, 1), std::hypot(kMethodError, 0.1 * kCrowdErrorOfSpeedup), 1e-12);
  facts.crowded_share = 1;
  EXPECT_EQ(SystematicErrorOf(facts).doubts, std::vector<ErrorCause>{ErrorCause::kCrowd});
  EXPECT_NEAR(Half(facts, 0.4, 0.5),
              std::hypot(kMethodError, 0.5 * kCrowdErrorOfSpeedup, 0.4 * kCrowdErrorOfEffect),
              1e-12);
}

TEST(SystematicErrorTest, GainsOfACrowdAreRatherTooSmall) {
  ErrorFacts facts;
  facts.crowded_share = 1;
  const SystematicError error = SystematicErrorOf(facts);
  const double above = std::hypot(0.5 * kCrowdErrorOfSpeedup, 0.4 * kCrowdErrorOfEffect);
  const double below = kCrowdTooLarge * above;
  EXPECT_NEAR(error.HalfWidth(0.4, 0.5, Side::kBelow), std::hypot(kMethodError, below), 1e-12);
  const Estimate whole = error.Widen({0.4, 0.39, 0.41}, 0.5);
  EXPECT_NEAR(whole.low, 0.4 - std::hypot(0.01, kMethodError, below), 1e-12);
  EXPECT_NEAR(whole.high, 0.4 + std::hypot(0.01, kMethodError, above), 1e-12);
  const Estimate loss = error.Widen({-0.4, -0.41, -0.39}, 0.5);
  EXPECT_NEAR(loss.value - loss.low, whole.high - whole.value, 1e-12);
  EXPECT_NEAR(loss.high - loss.value, whole.high - whole.value, 1e-12);
}

TEST(SystematicErrorTest, FewVisitsOfAnExperimentWiden) {
  ErrorFacts facts;
  facts.visits = 10;
  EXPECT_NEAR(Half(facts, 0.4, 1), std::hypot(kMethodError, kVisitsAtEnds / 10), 1e-12);
  facts.visits = 500;
  EXPECT_LT(Half(facts, 0.4, 1), 0.015);
}

// 80 us of a visit of a millisecond.
TEST(SystematicErrorTest, DearWakesWidenByTheEffectUpToOneForEachVisit) {
  ErrorFacts facts;
  facts.halted_wake_ns = 80'000;
  facts.halts_share = 0.08;
  EXPECT_NEAR(Half(facts, 0.1, 1), std::hypot(kMethodError, 0.4 * 0.1), 1e-12);
  EXPECT_NEAR(Half(facts, 0.5, 1), std::hypot(kMethodError, 0.08), 1e-12);
  EXPECT_NEAR(Half(facts, 0, 1), kMethodError, 1e-12);
  EXPECT_TRUE(SystematicErrorOf(facts).doubts.empty());
  // Pauses make waits longer, too, so a loss may be none.
  const SystematicError error = SystematicErrorOf(facts);
  EXPECT_NEAR(error.HalfWidth(-0.05, 1, Side::kAbove), std::hypot(kMethodError, 0.05), 1e-12);
  EXPECT_NEAR(error.HalfWidth(-0.05, 1, Side::kBelow), std::hypot(kMethodError, 0.4 * 0.05), 1e-12);
  EXPECT_NEAR(error.HalfWidth(-0.3, 1, Side::kAbove), std::hypot(kMethodError, 0.08), 1e-12);
  facts.crowded_share = 1;  // whose own term has them
  for (const ErrorTerm& term : SystematicErrorOf(facts).terms) {
    EXPECT_NE(term.cause, ErrorCause::kHalts);
  }
}

TEST(SystematicErrorTest, WidenedIntervalsAddUpAsSquares) {
  const Estimate whole = SystematicErrorOf({}).Widen({0.5, 0.48, 0.53}, 1);
  EXPECT_EQ(whole.value, 0.5);
  EXPECT_NEAR(whole.low, 0.5 - std::hypot(0.02, kMethodError), 1e-12);
  EXPECT_NEAR(whole.high, 0.5 + std::hypot(0.03, kMethodError), 1e-12);
  EXPECT_TRUE(std::isinf(SystematicErrorOf({}).Widen({}, 1).low));
}

ExperimentRow Row(double speedup) {
  ExperimentRow row;
  row.virtual_speedup = speedup;
  row.achieved_virtual_speedup = speedup;
  row.elapsed_ns = 500'000'000;
  row.effective_duration_ns = 400'000'000;
  row.total_samples = 900;
  row.cpus = 2;
  row.live_threads = 2;
  row.runnable_threads_average = 2;
  return row;
}

ErrorFacts FactsOf(std::vector<ExperimentRow> rows, bool kernel_is_sampled = true) {
  ExperimentTable table;
  std::vector<size_t> indices;
  for (ExperimentRow& row : rows) {
    indices.push_back(table.experiments.size());
    table.experiments.push_back(std::move(row));
  }
  return GatherErrorFacts(table, indices, std::nullopt,
                          [kernel_is_sampled](uint64_t) { return kernel_is_sampled; });
}

std::vector<ExperimentRow> OneWith(ExperimentRow row) {
  std::vector<ExperimentRow> rows;
  rows.push_back(std::move(row));
  return rows;
}

TEST(SystematicErrorTest, FactsComeFromWhatExperimentsRecord) {
  ExperimentRow row = Row(0.5);
  row.achieved_virtual_speedup = 0.6;
  row.selected_samples = 300;
  row.lost_periods = 100;
  row.runnable_threads_average = 5;
  row.excess_ns = 20'000'000;
  const ErrorFacts facts = FactsOf(OneWith(std::move(row)));
  EXPECT_NEAR(facts.achieved_share, 1.2, 1e-12);
  EXPECT_EQ(facts.selected_samples, 300);
  EXPECT_NEAR(facts.unseen_share, 0.1, 1e-12);
  EXPECT_EQ(facts.crowded_share, 1);
  EXPECT_EQ(facts.runnable_threads, 5);
  EXPECT_EQ(facts.cpus, 2);
  EXPECT_NEAR(facts.overslept, 0.1, 1e-12);
}

TEST(SystematicErrorTest, OtherProgramsThreadsAreNoCrowdOfTheProgram) {
  ExperimentRow row = Row(0.5);
  row.threads_beside_average = 7.5;
  const ErrorFacts facts = FactsOf(OneWith(std::move(row)));
  EXPECT_EQ(facts.crowded_share, 0);
  EXPECT_EQ(facts.beside_share, 1);
  const SystematicError error = SystematicErrorOf(facts);
  EXPECT_TRUE(error.doubts.empty());
  ASSERT_EQ(error.terms.size(), 2u);
  EXPECT_EQ(error.terms[1].cause, ErrorCause::kBeside);
  EXPECT_EQ(error.terms[1].of_speedup, kCrowdErrorOfSpeedup);
}

TEST(SystematicErrorTest, WhatSleepersOweCountsWhereSomebodyMayWaitForThem) {
  for (const bool is_crowd : {false, true}) {
    ExperimentRow row = Row(0.5);
    row.owed_ns = 50'000'000;
    row.runnable_threads_average = is_crowd ? 5 : 1;
    ErrorFacts facts = FactsOf(OneWith(std::move(row)));
    EXPECT_NEAR(facts.owed, 0.25, 1e-12);
    EXPECT_NEAR(facts.owed_in_crowds, is_crowd ? 0.25 : 0, 1e-12);
    for (const double visits : {0.0, kVisitsBesideSleeper - 1, kVisitsBesideSleeper}) {
      facts.visits = visits;
      const std::vector<ErrorTerm> terms = SystematicErrorOf(facts).terms;
      const bool counts = std::any_of(terms.begin(), terms.end(), [](const ErrorTerm& term) {
        return term.cause == ErrorCause::kOwed;
      });
      EXPECT_EQ(counts, !is_crowd || visits < kVisitsBesideSleeper) << visits;
    }
  }
}

TEST(SystematicErrorTest, UnsampledKernelTimeIsNoMismatchWhereTheKernelIsNotSampled) {
  ExperimentRow row = Row(0.5);
  row.lost_periods = 900;
  EXPECT_EQ(FactsOf(OneWith(std::move(row)), false).unseen_share, 0);
}

TEST(SystematicErrorTest, LittleOwedAndUnknownFiguresCountForNothing) {
  ExperimentRow row = Row(0.5);
  row.owed_ns = 20'000'000;
  row.achieved_virtual_speedup = std::nan("");
  row.runnable_threads_average = std::nan("");
  const ErrorFacts facts = FactsOf(OneWith(std::move(row)));
  EXPECT_EQ(facts.owed, 0);
  EXPECT_EQ(facts.achieved_share, 1);
  EXPECT_EQ(facts.crowded_share, 0);
}

// Through the whole analysis.

profile::Profile Profile(double slope, const SyntheticOptions& options = {}) {
  SyntheticProfile made(options, {{"/src/a.cc", 5, "A()", 0.5, slope, {}}});
  made.AddRandomExperiments(150);
  return made.profile();
}

LineAnalysis LineOf(const profile::Profile& profile) {
  return Analyze(profile, BuildExperimentTable(profile)).points.at(0).lines.at(0);
}

TEST(SystematicErrorTest, VerdictsOfARunThatWentWrongAreNotSure) {
  const LineAnalysis good = LineOf(Profile(0.5));
  EXPECT_TRUE(good.IsSure());
  EXPECT_EQ(good.verdict, Verdict::kFaster);
  SyntheticOptions missed;
  missed.achieved_share = 0.83;
  const LineAnalysis bad = LineOf(Profile(0.5, missed));
  EXPECT_FALSE(bad.IsSure());
  EXPECT_NEAR(bad.slope.value, 0.5, 0.03) << "it is over what was achieved";
  EXPECT_GT(bad.slope.high - bad.slope.low, 0.16);
  missed.achieved_share = 0.3;  // 0.7 of the effect is in doubt: it may be small
  EXPECT_EQ(LineOf(Profile(0.5, missed)).verdict, Verdict::kFaster);
  EXPECT_EQ(LineOf(Profile(0.02, missed)).verdict, Verdict::kNoEffect);
}

TEST(SystematicErrorTest, ACrowdTakesSmallEffectsAway) {
  for (const double slope : {0.05, 0.6}) {
    profile::Profile profile = Profile(slope);
    for (profile::Experiment& experiment : *profile.mutable_experiment()) {
      experiment.mutable_validity()->set_runnable_threads_average(6);
    }
    const LineAnalysis line = LineOf(profile);
    EXPECT_FALSE(line.IsSure());
    EXPECT_EQ(line.verdict, slope < 0.1 ? Verdict::kCannotTell : Verdict::kFaster);
    EXPECT_LT(line.statistical_slope.high - line.statistical_slope.low, 0.1);
    EXPECT_GT(line.slope.high - line.slope.value, 0.95 * kCrowdErrorOfSpeedup);
    EXPECT_GT(line.slope.value - line.slope.low, 0.95 * kCrowdTooLarge * kCrowdErrorOfSpeedup);
  }
}

TEST(SystematicErrorTest, ASlopeThatMayBeAnythingIsNoFigure) {
  EXPECT_TRUE(IsKnown({0.5, -0.5, 1.5}));
  EXPECT_FALSE(IsKnown({0.5, -0.6, 1.6}));
  EXPECT_FALSE(IsKnown({-6.15, -341, 329}));
  EXPECT_TRUE(IsKnown({-8, -9.5, -6.5})) << "it certainly hurts";
  EXPECT_FALSE(IsKnown({}));
  SyntheticOptions noisy;
  noisy.noise = 1.5;
  SyntheticProfile made(noisy, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  for (int i = 0; i < 3; ++i) made.AddExperiment(0, 0);
  for (int i = 1; i <= 6; ++i) made.AddExperiment(0, 0.15 * i);
  const PointAnalysis point =
      Analyze(made.profile(), BuildExperimentTable(made.profile())).points.at(0);
  EXPECT_TRUE(point.lines.empty());
  ASSERT_EQ(point.set_aside.size(), 1u);
  EXPECT_EQ(point.set_aside[0].reason, SetAsideReason::kNotKnown);
  EXPECT_EQ(point.set_aside[0].experiments, 9);
  EXPECT_GT(point.set_aside[0].times_needed, 1);
}

// Of a program with two CPUs: in 0.5 s of a baseline 300 visits, and so many ms without work.
ErrorFacts WithHalts(uint64_t idle_ms, const HaltedWakes& halted_wakes) {
  ExperimentTable table;
  table.experiments.push_back(Row(0));
  table.experiments.push_back(Row(0.5));
  for (ExperimentRow& row : table.experiments) row.idle_cpu_ns = idle_ms * 1'000'000;
  PointSeen visits;
  visits.least_visits = 300;
  ErrorFacts facts;
  AddHalts(table, {0, 1}, {&visits, &visits}, halted_wakes, &facts);
  return facts;
}

TEST(SystematicErrorTest, WakesOfHaltedCpusAreOneForEachVisitOrIdleTime) {
  const HaltedWakes wakes = {{0, 50'000}};
  EXPECT_NEAR(WithHalts(400, wakes).halts_share, 300 * 0.05 / 500, 1e-12);
  EXPECT_NEAR(WithHalts(20, wakes).halts_share, 100 * 0.05 / 500, 1e-12);
  EXPECT_NEAR(WithHalts(20, wakes).halted_wake_ns, 50'000, 1e-6);
  EXPECT_EQ(WithHalts(0, wakes).halts_share, 0);
  EXPECT_EQ(WithHalts(400, {}).halts_share, 0);
}

TEST(SystematicErrorTest, CpusThatAreKeptAwakeDoNotHalt) {
  profile::Profile profile;
  for (const bool awake : {false, true}) {
    profile::Session* session = profile.add_session();
    session->set_id(awake ? 2 : 1);
    session->mutable_machine()->set_halted_wake_ns(50'000);
    session->mutable_options()->set_awake(awake);
  }
  profile.add_session()->set_id(3);
  EXPECT_EQ(HaltedWakesOf(profile), (HaltedWakes{{1, 50'000}}));
}

}  // namespace
}  // namespace coz::report
