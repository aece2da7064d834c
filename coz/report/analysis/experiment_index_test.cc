#include "coz/report/analysis/experiment_index.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/coarse_samples.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/synthetic_profile.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using report_testing::SyntheticLine;
using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;
using ::testing::HasSubstr;

constexpr double kSmallShare = 0.02;

SyntheticLine Line(uint32_t line, double share, double slope) {
  return {"/src/app/work.cc", line, "Work()", share, slope, {}};
}

SyntheticOptions Noisy() {
  SyntheticOptions options;
  options.noise = 0.1;
  return options;
}

// On two CPUs, with two threads: a line of 2 % of the samples takes at most 4 % of a second in
// each.
SyntheticProfile SmallAndLarge(const SyntheticOptions& options = Noisy(), double slope = 0) {
  return SyntheticProfile(options, {Line(1, 1 - kSmallShare, 0.5), Line(2, kSmallShare, slope)});
}

PointAnalysis Analyzed(const profile::Profile& profile) {
  return Analyze(profile, BuildExperimentTable(profile)).points.at(0);
}

const LineAnalysis* Find(const PointAnalysis& point, size_t unit) {
  for (const LineAnalysis& line : point.lines) {
    if (line.unit == unit) return &line;
  }
  return nullptr;
}

void AddSweep(SyntheticProfile* made, size_t line, int times) {
  for (int i = 0; i < times * 4; ++i) made->AddExperiment(line, i % 4 * 0.25);
}

double LimitOf(const profile::Profile& profile, size_t unit) {
  const ExperimentTable table = BuildExperimentTable(profile);
  const bool is_kernel_sampled = profile.session(0).kernel_samples_included();
  const std::set<uint64_t> kernel_sampled =
      is_kernel_sampled ? std::set<uint64_t>{profile.session(0).id()} : std::set<uint64_t>();
  return ExperimentIndex(table, CoarseSamples(profile), kernel_sampled).GainLimit(unit);
}

TEST(ExperimentIndexTest, AGainIsLimitedByCpuTime) {
  SyntheticProfile made = SmallAndLarge();
  AddSweep(&made, 0, 50);
  EXPECT_GT(LimitOf(made.profile(), 1), 2 * kSmallShare);
  EXPECT_LT(LimitOf(made.profile(), 1), 2.5 * kSmallShare);
}

TEST(ExperimentIndexTest, ThreadsThatAreNotThereTakeNoCpuTime) {
  SyntheticProfile made = SmallAndLarge();
  AddSweep(&made, 0, 50);
  const double limit = LimitOf(made.profile(), 1);
  for (profile::Experiment& one : *made.profile().mutable_experiment()) {
    one.mutable_validity()->set_live_threads(1);
  }
  EXPECT_NEAR(LimitOf(made.profile(), 1), limit * 1.5 / 2, 1e-9) << "a mean of 1.5 is rounded to 1";
}

// A thread that is queued as long as it runs gains two seconds by each that it runs less.
TEST(ExperimentIndexTest, CpuTimeOfQueuedThreadsTakesLongerByTheClock) {
  SyntheticProfile made = SmallAndLarge();
  AddSweep(&made, 0, 50);
  const double limit = LimitOf(made.profile(), 1);
  for (profile::Experiment& one : *made.profile().mutable_experiment()) {
    one.mutable_validity()->set_runnable_threads_average(6);
  }
  EXPECT_NEAR(LimitOf(made.profile(), 1), limit * 6 / 2, 1e-9);
}

TEST(ExperimentIndexTest, CpuTimeBesideOtherProgramsTakesLongerByTheClock) {
  SyntheticOptions alone = Noisy();
  SyntheticOptions beside = Noisy();
  beside.share_left = 0.5;
  SyntheticProfile made[] = {SmallAndLarge(alone), SmallAndLarge(beside)};
  for (SyntheticProfile& one : made) AddSweep(&one, 0, 50);
  const double limit = LimitOf(made[0].profile(), 1);
  EXPECT_NEAR(LimitOf(made[1].profile(), 1), 2 * limit, 0.1 * limit);
}

TEST(ExperimentIndexTest, FewBaselinesTellNoLimit) {
  SyntheticProfile made = SmallAndLarge();
  AddSweep(&made, 0, 4);
  EXPECT_FALSE(std::isfinite(LimitOf(made.profile(), 1)));
  AddSweep(&made, 0, 1);
  EXPECT_TRUE(std::isfinite(LimitOf(made.profile(), 1)));
}

TEST(ExperimentIndexTest, CpusThatAreNotKnownTellNoLimit) {
  SyntheticProfile made = SmallAndLarge();
  AddSweep(&made, 0, 50);
  made.profile().mutable_experiment(0)->mutable_validity()->set_cpus(0);
  EXPECT_FALSE(std::isfinite(LimitOf(made.profile(), 1)));
}

TEST(ExperimentIndexTest, CoarseSamplesTellNoLimit) {
  SyntheticProfile made = SmallAndLarge();
  AddSweep(&made, 0, 50);
  made.End();
  ASSERT_TRUE(std::isfinite(LimitOf(made.profile(), 1)));
  made.profile().mutable_session(0)->set_sampling_source(profile::SAMPLING_SOURCE_CPU_TIMER);
  made.profile().mutable_session_end(0)->set_thread_switches(10'000'000);
  EXPECT_FALSE(std::isfinite(LimitOf(made.profile(), 1)));
}

// A system call of the line, for example.
TEST(ExperimentIndexTest, TimeInTheKernelWithoutSamplesMayAllBeTheUnits) {
  SyntheticProfile made = SmallAndLarge();
  AddSweep(&made, 0, 50);
  for (profile::Experiment& one : *made.profile().mutable_experiment()) {
    one.mutable_validity()->set_lost_periods(one.total_samples());
  }
  made.profile().mutable_session(0)->set_kernel_samples_included(true);
  EXPECT_LT(LimitOf(made.profile(), 1), 0.1) << "periods may be lost by chance";
  made.profile().mutable_session(0)->set_kernel_samples_included(false);
  EXPECT_GT(LimitOf(made.profile(), 1), 1) << "half of two CPUs' time";
  EXPECT_LT(LimitOf(made.profile(), 1), 1.1);
  EXPECT_EQ(Analyzed(made.profile()).set_aside.at(0).reason, SetAsideReason::kNotTried);
}

TEST(ExperimentIndexTest, AWaitTakesNoCpuTimeAndHasNoLimit) {
  SyntheticProfile made = SmallAndLarge();
  AddSweep(&made, 0, 50);
  made.profile().mutable_unit(1)->set_kind(profile::UNIT_KIND_WAIT);
  EXPECT_FALSE(std::isfinite(LimitOf(made.profile(), 1)));
}

TEST(SmallLineTest, NeedsNoExperimentsForItsVerdict) {
  SyntheticProfile made = SmallAndLarge();
  AddSweep(&made, 0, 50);
  const PointAnalysis point = Analyzed(made.profile());
  ASSERT_EQ(point.set_aside.size(), 1u);
  EXPECT_EQ(point.set_aside[0].reason, SetAsideReason::kSmall);
  EXPECT_EQ(point.set_aside[0].experiments, 0);
  EXPECT_LT(point.set_aside[0].gain_limit, 2.5 * kSmallShare);
}

TEST(SmallLineTest, StandsBehindThoseThatLackSomething) {
  SyntheticProfile made(Noisy(), {Line(1, 0.5, 0.5), Line(2, 0.4, 0), Line(3, 0.08, 0)});
  AddSweep(&made, 0, 50);
  made.AddExperiment(1, 0.5);
  const profile::Profile& profile = made.profile();
  PointAnalysis point = Analyzed(profile);
  ASSERT_EQ(point.set_aside.size(), 2u);
  EXPECT_EQ(point.set_aside[1].reason, SetAsideReason::kNotTried)
      << "0.08 on two CPUs is more than no gain";
  for (profile::Experiment& one : *made.profile().mutable_experiment()) {
    one.mutable_validity()->set_cpus(1);
  }
  point = Analyzed(profile);
  ASSERT_EQ(point.set_aside.size(), 2u);
  EXPECT_EQ(point.set_aside[0].reason, SetAsideReason::kFewSpeedups);
  EXPECT_EQ(point.set_aside[1].reason, SetAsideReason::kSmall);
}

TEST(SmallLineTest, HasNoGainThoughFewExperimentsCannotTell) {
  SyntheticProfile made = SmallAndLarge();
  AddSweep(&made, 0, 50);
  AddSweep(&made, 1, 3);
  const PointAnalysis point = Analyzed(made.profile());
  const LineAnalysis* line = Find(point, 1);
  ASSERT_NE(line, nullptr);
  ASSERT_GT(line->statistical_slope.high, 0.1) << "its experiments alone would not tell";
  EXPECT_EQ(line->verdict, Verdict::kNoEffect);
  EXPECT_TRUE(line->by_samples);
  EXPECT_THAT(HeadlineText(*line), testing::StartsWith("30 % faster: at most "));
  PointRow throughput;
  throughput.name = "requests";
  EXPECT_THAT(VerdictSentence(*line, throughput, {}), HasSubstr("`requests` gains"));
  EXPECT_DOUBLE_EQ(HeadlineOf(*line).program_speedup.high, 0.3 * line->gain_limit);
  EXPECT_DOUBLE_EQ(line->slope.high, line->gain_limit);
  EXPECT_DOUBLE_EQ(line->curve.At(0.5).high, 0.5 * line->gain_limit);
}

// It is no small one, and some experiments seem to say that it brings more.
TEST(LimitTest, NoGainIsAboveWhatTheCpuTimeAllows) {
  SyntheticOptions options;
  options.noise = 0.3;
  int above = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    options.seed = seed;
    SyntheticProfile made(options, {{"/src/a.cc", 1, "Work()", 0.15, 0.1, {}}});
    AddSweep(&made, 0, 5);
    const PointAnalysis point = Analyzed(made.profile());
    const LineAnalysis* line = Find(point, 0);
    if (line == nullptr || line->slope.low > line->gain_limit) continue;
    ASSERT_TRUE(std::isfinite(line->gain_limit));
    above += line->statistical_slope.high > line->gain_limit ? 1 : 0;
    EXPECT_LE(line->slope.high, line->gain_limit);
    EXPECT_LE(line->slope.value, line->slope.high);
    for (const CurvePoint& p : line->curve.points) {
      const double limit = line->gain_limit * p.virtual_speedup;
      EXPECT_LE(p.program_speedup.high, limit);
      EXPECT_LE(p.program_speedup.low, p.program_speedup.value);
    }
    for (const SpeedupEstimate& s : line->speedups) {
      EXPECT_LE(s.program_speedup.high, line->gain_limit * s.virtual_speedup);
    }
  }
  EXPECT_GT(above, 10) << "experiments alone would say more";
}

// What its experiments seem to say of one is chance.
TEST(SmallLineTest, HasNoBend) {
  int judged_by_samples = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SyntheticOptions options = Noisy();
    options.seed = seed;
    SyntheticProfile made = SmallAndLarge(options);
    AddSweep(&made, 0, 50);
    AddSweep(&made, 1, 3);
    const PointAnalysis point = Analyzed(made.profile());
    const LineAnalysis* line = Find(point, 1);
    if (line == nullptr || !line->by_samples) continue;
    ++judged_by_samples;
    EXPECT_FALSE(line->curve.bend.has_value()) << seed;
    EXPECT_EQ(line->curve.weight_of_bent, 0) << seed;
  }
  EXPECT_GT(judged_by_samples, 5);
}

TEST(SmallLineTest, StandsBehindLinesWithAVerdictByExperiments) {
  SyntheticProfile made(Noisy(), {Line(1, 1 - kSmallShare, -0.6), Line(2, kSmallShare, 0)});
  AddSweep(&made, 0, 50);
  AddSweep(&made, 1, 3);
  const PointAnalysis point = Analyzed(made.profile());
  ASSERT_EQ(point.lines.size(), 2u);
  EXPECT_EQ(point.lines[0].verdict, Verdict::kSlower);
  EXPECT_TRUE(point.lines[1].by_samples) << "though it has the larger slope";
}

// Samples of the last experiments, in which the line was tried, came by CPU timers.
TEST(SmallLineTest, IsNotJudgedByCoarseSamples) {
  SyntheticProfile made = SmallAndLarge();
  AddSweep(&made, 0, 100);
  const profile::Experiment& last = *made.profile().experiment().rbegin();
  const uint64_t at_ns = last.start_ns() + last.elapsed_ns();
  AddSweep(&made, 1, 3);
  made.End();
  ASSERT_TRUE(Find(Analyzed(made.profile()), 1)->by_samples);
  profile::SourceChange* change = made.profile().add_source_change();
  change->set_session(made.profile().session(0).id());
  change->set_at_ns(at_ns);
  change->set_sampling_source(profile::SAMPLING_SOURCE_CPU_TIMER);
  change->set_switches_per_second(20'000);
  change->set_cpu_ns_per_second(1.6e9);
  const PointAnalysis point = Analyzed(made.profile());
  const LineAnalysis* line = Find(point, 1);
  ASSERT_NE(line, nullptr);
  EXPECT_LT(line->gain_limit, 2.5 * kSmallShare) << "most baselines are older";
  EXPECT_FALSE(line->by_samples);
}

TEST(SmallLineTest, TheLargestLimitComesFirst) {
  int both = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SyntheticOptions options = Noisy();
    options.noise *= 4;
    options.seed = seed;
    SyntheticProfile made(options, {Line(1, 0.9, 0.5), Line(2, 0.01, 0), Line(3, 0.02, 0)});
    AddSweep(&made, 0, 50);
    AddSweep(&made, 1, 3);
    AddSweep(&made, 2, 3);
    const PointAnalysis point = Analyzed(made.profile());
    if (point.lines.size() < 3) continue;
    if (!point.lines[1].by_samples || !point.lines[2].by_samples) continue;
    ++both;
    EXPECT_GT(point.lines[1].gain_limit, point.lines[2].gain_limit) << seed;
  }
  EXPECT_GT(both, 5);
}

// Other threads are no doubt of the samples, whose limit takes them into account.
TEST(SmallLineTest, IsSureWhereItsExperimentsAreNot) {
  SyntheticProfile made(Noisy(), {Line(1, 0.99, 0.5), Line(2, 0.01, 0)});
  AddSweep(&made, 0, 50);
  AddSweep(&made, 1, 3);
  for (profile::Experiment& one : *made.profile().mutable_experiment()) {
    one.mutable_validity()->set_runnable_threads_average(5);
  }
  const PointAnalysis point = Analyzed(made.profile());
  ASSERT_FALSE(Find(point, 0)->IsSure());
  EXPECT_TRUE(Find(point, 1)->IsSure());
  EXPECT_TRUE(Find(point, 1)->by_samples);
}

TEST(SmallLineTest, IsBelievedWhereItsExperimentsContradict) {
  SyntheticProfile made = SmallAndLarge(SyntheticOptions(), 0.6);
  AddSweep(&made, 0, 20);
  AddSweep(&made, 1, 20);
  const PointAnalysis point = Analyzed(made.profile());
  const LineAnalysis* line = Find(point, 1);
  ASSERT_NE(line, nullptr);
  EXPECT_EQ(line->verdict, Verdict::kFaster);
  EXPECT_FALSE(line->by_samples);
}

TEST(SmallLineTest, MayHurt) {
  SyntheticProfile made = SmallAndLarge(SyntheticOptions(), -0.6);
  AddSweep(&made, 0, 20);
  AddSweep(&made, 1, 20);
  const PointAnalysis point = Analyzed(made.profile());
  const LineAnalysis* line = Find(point, 1);
  ASSERT_NE(line, nullptr);
  EXPECT_EQ(line->verdict, Verdict::kSlower);
}

// Where many wait in a queue, a little work may be most of the time that each waits.
TEST(SmallLineTest, HasNoLimitAtALatencyPoint) {
  SyntheticOptions options = Noisy();
  options.kind = profile::PROGRESS_POINT_KIND_LATENCY;
  SyntheticProfile made = SmallAndLarge(options);
  AddSweep(&made, 0, 50);
  EXPECT_EQ(Analyzed(made.profile()).set_aside.at(0).reason, SetAsideReason::kNotTried);
}

}  // namespace
}  // namespace coz::report
