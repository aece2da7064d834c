#include "coz/report/wording/verdict.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/systematic_error.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

VerdictContext Context() {
  VerdictContext context;
  context.run_time_ns = 20'000'000'000;
  return context;
}

// What is said of a line whose truth is known, after so many experiments.
std::string Said(const std::function<double(double)>& truth, int experiments = 150,
                 const SyntheticOptions& options = {}) {
  SyntheticProfile made(options, {{"/src/a.cc", 5, "A()", 0.5, 0, truth}});
  made.AddRandomExperiments(experiments);
  made.End();
  const ExperimentTable table = BuildExperimentTable(made.profile());
  const Analysis analysis = Analyze(made.profile(), table);
  const PointAnalysis& point = analysis.points.at(0);
  if (point.lines.empty()) {
    return SetAsideSentence(point.set_aside.at(0), table.points[0], Context());
  }
  return VerdictSentence(point.lines[0], table.points[0], Context());
}

double Half(double s) { return 0.5 * s; }

TEST(VerdictTest, GainIsQuotedAtOneSpeedupWithItsInterval) {
  EXPECT_THAT(Said(Half), MatchesRegex("making this 30 % faster speeds `requests` up by 15 % "
                                       "\\([0-9]+ to [0-9]+\\)"));
}

TEST(VerdictTest, ARunThatWentWrongIsNotSureAndSaysWhyAndWhatToDo) {
  SyntheticOptions missed;
  missed.achieved_share = 0.83;
  EXPECT_THAT(Said(Half, 150, missed),
              MatchesRegex("making this 30 % faster .*; not sure: pauses made 83 % of the virtual "
                           "speedups asked for: leave the machine idle and profile again with "
                           "`coz run --awake`"));
  missed.achieved_share = 0.98;
  EXPECT_THAT(Said(Half, 150, missed), ::testing::Not(HasSubstr("not sure")));
}

TEST(VerdictTest, AQuestionMarkStandsBehindTheWordOfAVerdictThatIsNotSure) {
  LineAnalysis line;
  line.verdict = Verdict::kFaster;
  EXPECT_EQ(VerdictWord(line), "worth it");
  line.systematic.doubts = {ErrorCause::kCrowd};
  EXPECT_EQ(VerdictWord(line), "worth it?");
  line.verdict = Verdict::kCannotTell;
  EXPECT_EQ(VerdictWord(line), "not yet known");
}

TEST(VerdictTest, WhatNoLongerRunDecidesSaysSo) {
  ErrorFacts facts;
  facts.crowded_share = 1;
  facts.runnable_threads = 6;
  facts.cpus = 2;
  LineAnalysis line;
  line.slope = {0.05, -0.06, 0.16};
  line.statistical_slope = {0.05, 0.03, 0.07};
  line.systematic = SystematicErrorOf(facts);
  EXPECT_EQ(
      VerdictSentence(line, PointRow(), Context()),
      "not yet known, and a longer run tells no more: in 100 % of its experiments 6.0 threads of "
      "the program were runnable on 2 CPUs: give the program fewer threads, or more CPUs");
  EXPECT_FALSE(RemainingNs(line, Context()).has_value());
}

TEST(VerdictTest, ASlopeThatMayBeAnythingIsNotKnownYet) {
  LineSetAside line;
  line.reason = SetAsideReason::kNotKnown;
  line.experiments = 12;
  line.times_needed = 3;
  EXPECT_EQ(SetAsideSentence(line, PointRow(), Context()),
            "set aside: not yet known, the slope may be anything from a loss to all of the time, "
            "about 40 s more");
  line.times_needed = std::numeric_limits<double>::infinity();
  EXPECT_THAT(SetAsideSentence(line, PointRow(), Context()), HasSubstr("tells no more"));
}

TEST(VerdictTest, PlateauIsNamed) {
  EXPECT_THAT(Said([](double s) { return 0.5 * std::min(s, 0.6); }),
              MatchesRegex(".*up by 1[0-9] .*; nothing more beyond [56][05] %"));
}

TEST(VerdictTest, LossAfterAGainIsNamed) {
  EXPECT_THAT(Said([](double s) { return s < 0.5 ? s * 0.6 : 0.3 - (s - 0.5) * 0.4; }),
              HasSubstr("; partly lost again beyond "));
}

TEST(VerdictTest, SlowerLinesMayBeContention) {
  EXPECT_THAT(
      Said([](double s) { return -0.4 * s; }),
      MatchesRegex("speeding this up hurts, as by contention; making this 30 % faster slows "
                   "`requests` down by 1[0-9] % \\([0-9]+ to [0-9]+\\)"));
}

TEST(VerdictTest, NoEffectHasItsBounds) {
  EXPECT_THAT(Said([](double) { return 0; }),
              MatchesRegex("no gain: however fast this gets, `requests` changes by -?[0-9.]+ to "
                           "[0-9.]+ %"));
  EXPECT_THAT(Said([](double s) { return 0.05 * s; }, 600),
              MatchesRegex("hardly any gain: however fast this gets, `requests` gains [3-6] to "
                           "[4-7] %"));
}

TEST(VerdictTest, LossThatPausesMayHaveCostIsSaidToBeThat) {
  SyntheticOptions dear;
  dear.overslept_share = 0.9;
  EXPECT_THAT(Said([](double s) { return -0.15 * s; }, 600, dear),
              MatchesRegex("no gain: however fast this gets, `requests` loses 1[0-9] to "
                           "1[0-9] %, which pauses alone may cost"));
}

TEST(VerdictTest, OpenLinesSayHowMuchLonger) {
  SyntheticOptions noisy;
  noisy.noise = 0.3;
  noisy.seed = 2;
  EXPECT_THAT(Said([](double s) { return 0.02 * s; }, 24, noisy),
              MatchesRegex("not yet known, (about [0-9]+ (s|min|h)|days) more"));
}

TEST(VerdictTest, SetAsideLinesSayWhatTheyLackAndHowLongThatTakes) {
  EXPECT_THAT(Said(Half, 4), MatchesRegex("set aside: needs [0-9] more speedup values?, about "
                                          "[0-9]+ s more"));
}

TEST(VerdictTest, BaselinesAloneAreNotToBeContinued) {
  profile::Profile profile;
  profile.add_session()->mutable_options()->add_fixed_virtual_speedup(0);
  VerdictContext context = Context();
  context.profile = &profile;
  LineSetAside line;
  line.missing_speedups = 3;
  EXPECT_EQ(SetAsideSentence(line, PointRow(), context),
            "set aside: only baselines were to be made, by --fixed-speedup=0");
  profile.add_session();  // merged with a run of all speedups
  EXPECT_EQ(SetAsideSentence(line, PointRow(), context), "set aside: needs 3 more speedup values");
}

TEST(VerdictTest, LatencyGetsShorter) {
  SyntheticOptions options;
  options.kind = profile::PROGRESS_POINT_KIND_LATENCY;
  EXPECT_THAT(Said(Half, 150, options),
              MatchesRegex("making this 30 % faster makes `requests` 1[0-9] % .* shorter"));
  EXPECT_THAT(Said([](double s) { return -0.4 * s; }, 150, options),
              MatchesRegex("speeding this up hurts, as by longer queues behind it, or contention; "
                           "making this .* longer"));
}

TEST(VerdictTest, TimeNeededGrowsWithTheSquareOfTheInterval) {
  LineAnalysis line;
  line.slope = line.statistical_slope = {0.2, -0.2, 0.6};
  EXPECT_EQ(RemainingNs(line, Context()), 60'000'000'000u);
  line.slope = line.statistical_slope = {0.0, -0.2, 0.2};
  EXPECT_EQ(RemainingNs(line, Context()), 60'000'000'000u);
  // What is systematic stays, so chance has to become narrower still.
  line.systematic.terms = {{ErrorCause::kMethod, 0.06, 0, 0}};
  EXPECT_NEAR(static_cast<double>(*RemainingNs(line, Context())), 20e9 * (0.04 / 0.0064 - 1), 1e6);
  line.systematic = {};
  line.slope = line.statistical_slope = {};
  EXPECT_EQ(RemainingNs(line, Context()), std::nullopt);
  line.verdict = Verdict::kFaster;
  EXPECT_EQ(RemainingNs(line, Context()), std::nullopt);
}

TEST(VerdictTest, TimeNeededIsUntilTheQuotedGainLeavesOutALossToo) {
  LineAnalysis line;
  line.slope = line.statistical_slope = {0.2, 0.1, 0.3};
  for (double s : {0.0, 0.3, 1.0}) {
    line.curve.points.push_back({s, {0.2 * s, -0.2 * s, 0.6 * s}});
  }
  EXPECT_EQ(RemainingNs(line, Context()), 60'000'000'000u);
  // The method's error is much of a small gain, and little of the slope.
  line.systematic.terms = {{ErrorCause::kMethod, 0.06, 0, 0}};
  EXPECT_EQ(RemainingNs(line, Context()), std::nullopt);
  EXPECT_THAT(VerdictSentence(line, PointRow(), Context()),
              HasSubstr("not yet known, and a longer run tells no more"));
}

}  // namespace
}  // namespace coz::report
