#include "coz/report/analysis/coarse_samples.h"

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/precision_goal.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/synthetic_profile.h"
#include "coz/report/wording/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::HasSubstr;

// One line with so many experiments that its slope is known to some hundredths.
profile::Profile OneLine(double slope) {
  report_testing::SyntheticProfile made({}, {{"/src/a.cc", 5, "A()", 0.5, slope, {}}});
  made.AddRandomExperiments(200);
  made.End();
  return made.profile();
}

// As coz writes it down when CPU timers take over from perf events.
void ChangeSource(profile::Profile* profile, uint64_t at_ns) {
  profile::SourceChange* change = profile->add_source_change();
  change->set_session(profile->session(0).id());
  change->set_at_ns(at_ns);
  change->set_sampling_source(profile::SAMPLING_SOURCE_CPU_TIMER);
  change->set_switches_per_second(20'000);
  change->set_cpu_ns_per_second(1.6e9);
}

// CPU timers sampled all the time, and threads were switched so many times.
void UseTimers(profile::Profile* profile, uint64_t switches) {
  profile->mutable_session(0)->set_sampling_source(profile::SAMPLING_SOURCE_CPU_TIMER);
  profile->mutable_session_end(0)->set_thread_switches(switches);
}

LineAnalysis Judged(const profile::Profile& profile) {
  const Analysis analysis = Analyze(profile, BuildExperimentTable(profile));
  EXPECT_EQ(analysis.points.at(0).lines.size(), 1u);
  return analysis.points.at(0).lines.at(0);
}

TEST(CoarseSamplesTest, NoEffectIsNotSaidAfterAChangeToCpuTimers) {
  profile::Profile profile = OneLine(0);
  ASSERT_EQ(Judged(profile).verdict, Verdict::kNoEffect);
  ChangeSource(&profile, 600'000'000);
  const LineAnalysis line = Judged(profile);
  EXPECT_EQ(line.verdict, Verdict::kCannotTell);
  EXPECT_DOUBLE_EQ(line.missed_in_stretch_ns, 80'000);
}

// 80 us between two waits, as ChangeSource says.
TEST(CoarseSamplesTest, SamplesOfAClockStandForAPeriod) {
  profile::Profile profile = OneLine(0);
  ChangeSource(&profile, 0);
  profile.mutable_source_change(0)->set_sampling_source(profile::SAMPLING_SOURCE_CPU_CLOCK);
  profile.mutable_session(0)->set_sampling_period_ns(400'000);
  EXPECT_EQ(Judged(profile).verdict, Verdict::kCannotTell);
  EXPECT_EQ(CoarseSamples(profile).First().sample_ns, 400'000);
  profile.mutable_session(0)->set_sampling_period_ns(300'000);
  EXPECT_EQ(CoarseSamples(profile).First().stretch_ns, 0);
}

TEST(CoarseSamplesTest, WaitsNeedNoSamples) {
  profile::Profile profile = OneLine(0);
  ChangeSource(&profile, 0);
  profile.mutable_session(0)->mutable_options()->set_unit_kind(profile::UNIT_KIND_WAIT);
  EXPECT_EQ(Judged(profile).verdict, Verdict::kNoEffect);
  EXPECT_EQ(CoarseSamples(profile).First().stretch_ns, 0);
}

TEST(CoarseSamplesTest, VerdictSaysWhyAndNotToRunLonger) {
  profile::Profile profile = OneLine(0);
  ChangeSource(&profile, 0);
  const ExperimentTable table = BuildExperimentTable(profile);
  const VerdictContext context = {{}, table.run_time_ns};
  const LineAnalysis line = Judged(profile);
  EXPECT_THAT(VerdictSentence(line, table.points[0], context),
              HasSubstr("no gain was seen, but threads ran only 0.08 ms between two waits, and a "
                        "sample stands for far more time"));
  EXPECT_FALSE(RemainingNs(line, context).has_value());
}

TEST(CoarseSamplesTest, AnEffectThatWasSeenIsSaid) {
  profile::Profile profile = OneLine(0.5);
  ChangeSource(&profile, 0);
  const LineAnalysis line = Judged(profile);
  EXPECT_EQ(line.verdict, Verdict::kFaster);
  EXPECT_EQ(line.missed_in_stretch_ns, 0);
}

TEST(CoarseSamplesTest, ExperimentsBeforeTheChangeTellNoEffect) {
  profile::Profile profile = OneLine(0);
  ChangeSource(&profile, profile.experiment().rbegin()->start_ns());
  EXPECT_EQ(Judged(profile).verdict, Verdict::kNoEffect);
}

TEST(CoarseSamplesTest, CpuTimersAloneAreTooCoarseWhereThreadsWaitOften) {
  profile::Profile profile = OneLine(0);
  const uint64_t cpu_ns =
      profile.session_end(0).total_samples() * profile.session(0).sampling_period_ns();
  UseTimers(&profile, cpu_ns / 200'000);
  EXPECT_EQ(Judged(profile).verdict, Verdict::kCannotTell);
}

TEST(CoarseSamplesTest, CpuTimersAreFineEnoughWhereThreadsSeldomWait) {
  profile::Profile profile = OneLine(0);
  const uint64_t cpu_ns =
      profile.session_end(0).total_samples() * profile.session(0).sampling_period_ns();
  UseTimers(&profile, cpu_ns / 4'000'000);  // a pause for each sample
  EXPECT_EQ(Judged(profile).verdict, Verdict::kNoEffect);
  UseTimers(&profile, 0);  // not known
  EXPECT_EQ(Judged(profile).verdict, Verdict::kNoEffect);
}

// So many switches that what sampling adds to them is this share of the CPU time.
void MakeSwitchesTake(double share, profile::Profile* profile) {
  profile::SessionEnd* end = profile->mutable_session_end(0);
  const double cpu_ns = static_cast<double>(end->total_samples()) *
                        static_cast<double>(profile->session(0).sampling_period_ns());
  end->set_switch_cost_ns(16'000);
  end->set_thread_switches(static_cast<uint64_t>(share * cpu_ns / 16'000));
}

TEST(CoarseSamplesTest, NoEffectIsNotSaidWherePerfEventsTakeMuchOfTheTimeAtSwitches) {
  profile::Profile profile = OneLine(0);
  MakeSwitchesTake(0.1, &profile);
  const LineAnalysis line = Judged(profile);
  EXPECT_EQ(line.verdict, Verdict::kCannotTell);
  EXPECT_NEAR(line.missed_in_stretch_ns, 160'000, 100);
  const ExperimentTable table = BuildExperimentTable(profile);
  EXPECT_THAT(VerdictSentence(line, table.points[0], {{}, table.run_time_ns}),
              HasSubstr("threads ran only 0.16 ms between two waits, and perf events slowed each "
                        "switch between them"));
}

TEST(CoarseSamplesTest, SwitchesThatPerfEventsMakeLittleDearerDoNotMatter) {
  profile::Profile profile = OneLine(0);
  MakeSwitchesTake(0.03, &profile);
  EXPECT_EQ(Judged(profile).verdict, Verdict::kNoEffect);
  profile.mutable_session_end(0)->set_thread_switches(10'000'000);
  profile.mutable_session_end(0)->set_switch_cost_ns(0);  // not measured
  EXPECT_EQ(Judged(profile).verdict, Verdict::kNoEffect);
}

TEST(CoarseSamplesTest, AnEffectThatPerfEventsShowIsSaid) {
  profile::Profile profile = OneLine(0.5);
  MakeSwitchesTake(0.1, &profile);
  EXPECT_EQ(Judged(profile).verdict, Verdict::kFaster);
}

TEST(CoarseSamplesTest, NoRunIsProlongedForALineOfWhichNothingCanBeTold) {
  profile::Profile profile = OneLine(0);
  ChangeSource(&profile, 0);
  PrecisionGoal goal;
  goal.width = 0.0001;
  const ExperimentTable table = BuildExperimentTable(profile);
  const PrecisionState state = JudgePrecision(table, Analyze(profile, table), goal);
  EXPECT_TRUE(state.open.empty());
}

}  // namespace
}  // namespace coz::report
