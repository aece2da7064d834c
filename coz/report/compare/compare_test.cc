// Profiles of programs whose change is known.
#include <signal.h>
#include <sys/resource.h>

#include <cstdio>
#include <fstream>
#include <utility>

#include "coz/report/compare/diff.h"
#include "coz/report/compare/history.h"
#include "coz/report/compare/verify.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct LineSpec {
  uint32_t line;
  double share;
  double slope;
  std::string function = "Work()";
  std::string file = "/src/app/work.cc";
};

std::unique_ptr<const AnalyzedProfile> Make(double ns_per_visit, const std::vector<LineSpec>& lines,
                                            uint64_t seed, int experiments = 600,
                                            double noise = 0.02) {
  report_testing::SyntheticOptions options;
  options.ns_per_visit = ns_per_visit;
  options.seed = seed;
  options.noise = noise;
  options.session = seed;
  std::vector<report_testing::SyntheticLine> synthetic_lines;
  for (const LineSpec& spec : lines) {
    report_testing::SyntheticLine line;
    line.line = spec.line;
    line.share = spec.share;
    line.slope = spec.slope;
    line.function = spec.function;
    line.file = spec.file;
    synthetic_lines.push_back(line);
  }
  report_testing::SyntheticProfile synthetic(options, synthetic_lines);
  synthetic.AddRandomExperiments(experiments);
  synthetic.End();
  return AnalyzeWhole(synthetic.profile());
}

// A line that took 0.6 of the time was made to take half as long: 30 % less time a visit, and then
// it is 0.3 of 0.7.
std::unique_ptr<const AnalyzedProfile> Before() {
  return Make(1e6, {{10, 0.6, 0.6}, {20, 0.4, 0.4}}, 1);
}
std::unique_ptr<const AnalyzedProfile> After() {
  return Make(0.7e6, {{10, 0.43, 0.43}, {20, 0.57, 0.57}}, 2);
}

const LineDiff& Find(const ProfileDiff& diff, const std::string& name) {
  for (const LineDiff& line : diff.points[0].lines) {
    if (line.before_name == name || line.after_name == name) return line;
  }
  static const LineDiff none;
  ADD_FAILURE() << name;
  return none;
}

TEST(DiffTest, TellsWhatBecameFasterAndWhichLinesMatterNow) {
  const ProfileDiff diff = Compare(*Before(), *After());
  ASSERT_EQ(diff.points.size(), 1u);
  ASSERT_TRUE(diff.points[0].gain.has_value());
  EXPECT_NEAR(diff.points[0].gain->value, 0.3, 0.02);
  EXPECT_LT(diff.points[0].gain->low, 0.3);
  EXPECT_GT(diff.points[0].gain->high, 0.29);
  const LineDiff& optimized = Find(diff, "/src/app/work.cc:10");
  EXPECT_EQ(optimized.change, Change::kLost);
  EXPECT_NEAR(optimized.difference->value, -0.17, 0.06);
  EXPECT_EQ(Find(diff, "/src/app/work.cc:20").change, Change::kGained);
}

TEST(DiffTest, SameProgramShowsNoCertainDifference) {
  const ProfileDiff diff =
      Compare(*Make(1e6, {{10, 0.6, 0.6}}, 3), *Make(1e6, {{10, 0.6, 0.6}}, 4));
  EXPECT_THAT(DiffText(diff, 0), HasSubstr("no certain difference"));
  const Change change = Find(diff, "/src/app/work.cc:10").change;
  EXPECT_TRUE(change == Change::kUnchanged || change == Change::kCannotTell);
}

TEST(DiffTest, LineThatMovedWithinItsFunctionIsRecognized) {
  const ProfileDiff diff = Compare(*Make(1e6, {{10, 0.6, 0.6, "A()"}, {50, 0.4, 0, "B()"}}, 5),
                                   *Make(1e6, {{12, 0.6, 0.6, "A()"}, {50, 0.4, 0, "B()"}}, 6));
  const LineDiff& moved = Find(diff, "/src/app/work.cc:10");
  EXPECT_EQ(moved.after_name, "/src/app/work.cc:12");
  EXPECT_THAT(DiffText(diff, 0), HasSubstr("work.cc:12 (was 10)"));
}

TEST(DiffTest, ProfilesFromTwoFoldersAreCompared) {
  const ProfileDiff diff = Compare(*Make(1e6, {{10, 0.6, 0.6, "A()", "/ci/job1/work.cc"}}, 5),
                                   *Make(1e6, {{10, 0.6, 0.6, "A()", "/ci/job2/work.cc"}}, 6));
  EXPECT_THAT(diff.notes, ::testing::IsEmpty());
  ASSERT_EQ(diff.points[0].lines.size(), 1u);
  EXPECT_EQ(Find(diff, "/ci/job1/work.cc:10").after_name, "/ci/job2/work.cc:10");
  EXPECT_THAT(DiffText(diff, 0), Not(HasSubstr("(was")));
}

TEST(DiffTest, FilesThatCannotBeToldApartAreNotedAndNamedApart) {
  const ProfileDiff diff = Compare(*Make(1e6, {{10, 0.6, 0.6, "A()", "/ci/job1/work.cc"}}, 5),
                                   *Make(1e6,
                                         {{10, 0.4, 0.6, "A()", "/ci/job2/work.cc"},
                                          {10, 0.4, 0.6, "B()", "/ci/job2/old/work.cc"}},
                                         6));
  EXPECT_THAT(diff.notes,
              ::testing::ElementsAre(HasSubstr("which of /ci/job1/work.cc of the first profile")));
  const std::string text = DiffText(diff, 0);
  EXPECT_THAT(text, HasSubstr("only before  job1/work.cc:10"));
  EXPECT_THAT(text, HasSubstr("only after   job2/work.cc:10"));
}

TEST(DiffTest, OnANarrowTerminalALineHasTwoRows) {
  const ProfileDiff diff = Compare(*Before(), *After());
  EXPECT_EQ(DiffText(diff, 0, 200), DiffText(diff, 0));
  const std::string text = DiffText(diff, 0, 60);
  EXPECT_THAT(text, HasSubstr(" change  line        function\n   gain at 30 %\n"));
  EXPECT_THAT(text, HasSubstr(" lost    work.cc:10  Work()\n   before +18"));
  EXPECT_THAT(text, HasSubstr("); after +"));
}

TEST(DiffTest, NewAndGoneLinesAreNamed) {
  const ProfileDiff diff =
      Compare(*Make(1e6, {{10, 0.6, 0.6, "A()"}}, 7), *Make(1e6, {{50, 0.6, 0.6, "B()"}}, 8));
  EXPECT_EQ(Find(diff, "/src/app/work.cc:10").change, Change::kGone);
  EXPECT_EQ(Find(diff, "/src/app/work.cc:50").change, Change::kNew);
  EXPECT_FALSE(Find(diff, "/src/app/work.cc:50").before_headline.has_value());
  EXPECT_THAT(DiffText(diff, 0), HasSubstr("only before, only after: the other profile has no"));
}

// A profile in which line 10 alone was tried, and line 20 has 1 % of the samples.
std::unique_ptr<const AnalyzedProfile> WithSmall(uint64_t seed) {
  report_testing::SyntheticOptions options;
  options.seed = seed;
  options.session = seed;
  options.ns_per_visit = 0.7e6;
  report_testing::SyntheticLine hot;
  hot.line = 10;
  hot.share = 0.9;
  hot.slope = 0.5;
  hot.function = "Work()";
  report_testing::SyntheticLine small = hot;
  small.line = 20;
  small.share = 0.01;
  small.slope = 0;
  report_testing::SyntheticProfile made(options, {hot, small});
  for (int i = 0; i < 200; ++i) made.AddExperiment(0, i % 5 * 0.2);
  made.End();
  return AnalyzeWhole(made.profile());
}

TEST(DiffTest, ALineThatHasBecomeSmallIsNotGone) {
  const auto large = Before();
  const auto small = WithSmall(2);
  const ProfileDiff lost = Compare(*large, *small);
  EXPECT_EQ(Find(lost, "/src/app/work.cc:20").change, Change::kLost);
  EXPECT_THAT(Find(lost, "/src/app/work.cc:20").after_gain, HasSubstr("at most 0."));
  EXPECT_FALSE(Find(lost, "/src/app/work.cc:20").difference.has_value());
  const ProfileDiff gained = Compare(*small, *large);
  EXPECT_EQ(Find(gained, "/src/app/work.cc:20").change, Change::kGained);
  EXPECT_THAT(Find(gained, "/src/app/work.cc:20").before_gain, HasSubstr("at most 0."));
}

TEST(DiffTest, NoGainByExperimentsAndBySamplesIsUnchanged) {
  const auto tried = Make(1e6, {{10, 0.6, 0.5}, {20, 0.4, 0}}, 1);
  EXPECT_EQ(Find(Compare(*tried, *WithSmall(2)), "/src/app/work.cc:20").change, Change::kUnchanged);
  EXPECT_EQ(Compare(*WithSmall(3), *WithSmall(2)).points[0].lines.size(), 1u) << "small in both";
}

TEST(VerifyTest, OfASmallLineTheLimitIsPredicted) {
  VerifyOptions options;
  options.line = "work.cc:20";
  options.speedup = 0.5;
  const auto same = Verify(*WithSmall(2), *WithSmall(3), options);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->front().outcome, Outcome::kHeld);
  EXPECT_EQ(same->front().predicted.low, 0);
  EXPECT_THAT(VerificationText(same->front()), HasSubstr("for the program  at most +1."));
  EXPECT_TRUE(VerificationJson(same->front())["predicted_by_samples"].get<bool>());
  const auto faster = Verify(*Before(), *WithSmall(3), options);
  ASSERT_TRUE(faster.ok()) << faster.status();
  EXPECT_FALSE(faster->front().is_limit);
}

// The same beside other programs that leave no CPU idle. The program uses one CPU of `cpus`.
std::unique_ptr<const AnalyzedProfile> Crowded(const AnalyzedProfile& alone, double cpus = 2) {
  profile::Profile crowded = alone.profile;
  for (profile::Experiment& one : *crowded.mutable_experiment()) {
    profile::Validity* validity = one.mutable_validity();
    validity->set_busy_cpu_ns(static_cast<uint64_t>(cpus * static_cast<double>(one.elapsed_ns())));
    validity->set_idle_cpu_ns(0);
  }
  return AnalyzeWhole(std::move(crowded));
}

TEST(VerifyTest, ProgramsThatTookCpuTimeAreNamed) {
  const auto before = Before();
  const auto after = Crowded(*After());
  VerifyOptions options;
  options.line = "work.cc:10";
  const auto found = Verify(*before, *after, options);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(VerificationText(found->front()),
              HasSubstr("  note: other programs used 50 % in the second profile of the time"));
  EXPECT_THAT(VerificationJson(found->front())["note"].get<std::string>(), HasSubstr("idle"));
  const auto alone = Verify(*before, *After(), options);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->front().note, "");
}

TEST(DiffTest, LinesAreCalledAsInTheReport) {
  const std::string text = DiffText(Compare(*Before(), *After()), 0);
  EXPECT_THAT(text, HasSubstr(" change  line        function "));
  EXPECT_THAT(text, HasSubstr("work.cc:10  Work()"));
  EXPECT_THAT(text, Not(HasSubstr("/src/app")));
  EXPECT_THAT(text, Not(HasSubstr("note:")));
}

TEST(DiffTest, ProfilesWithNothingInCommonAreNoted) {
  const auto before = Before();
  profile::Profile other = After()->profile;
  other.mutable_progress_point(0)->set_name("others");
  const ProfileDiff diff = Compare(*before, *AnalyzeWhole(other));
  EXPECT_THAT(DiffText(diff, 0), HasSubstr("note: the profiles have no progress point in common"));
  EXPECT_THAT(DiffMarkdown(diff, 0), HasSubstr("> note: the profiles have no progress point"));
}

// With a program of this build-id.
profile::Profile OfBuild(const AnalyzedProfile& whole, const std::string& build_id) {
  profile::Profile profile = whole.profile;
  profile::Binary* binary = profile.add_binary();
  binary->set_session(profile.session(0).id());
  binary->set_path("/src/app/server");
  binary->set_build_id(build_id);
  return profile;
}

void ExpectInEveryForm(const ProfileDiff& diff, const std::string& sentence) {
  EXPECT_THAT(DiffText(diff, 0), HasSubstr("  note: " + sentence));
  EXPECT_THAT(DiffMarkdown(diff, 0), HasSubstr("> note: " + sentence));
  const nlohmann::ordered_json json = DiffJson(diff);
  EXPECT_THAT(json["note"].get<std::string>(), HasSubstr(sentence));
  EXPECT_EQ(json["notes"].front(), json["note"]);
}

TEST(DiffTest, OtherProgramsAreNoted) {
  ExpectInEveryForm(Compare(*Crowded(*Before()), *After()),
                    "other programs used 50 % in the first profile of the time of the program's "
                    "CPUs, so what happened may be their doing");
  EXPECT_TRUE(DiffJson(Compare(*Before(), *After()))["note"].is_null());
}

TEST(DiffTest, OneBuildTwiceIsNoted) {
  const auto before = AnalyzeWhole(OfBuild(*Before(), "\x12\x34"));
  const auto again = AnalyzeWhole(OfBuild(*After(), "\x12\x34"));
  ExpectInEveryForm(Compare(*before, *again),
                    "both profiles are of the same build of server (build-id 1234)");
  const auto changed = AnalyzeWhole(OfBuild(*After(), "\x56\x78"));
  EXPECT_THAT(Compare(*before, *changed).notes, ::testing::IsEmpty());
}

TEST(DiffTest, AProfileOfTwoBuildsIsNoted) {
  profile::Profile both = OfBuild(*Before(), "\x12\x34");
  both.MergeFrom(OfBuild(*After(), "\x56\x78"));
  ExpectInEveryForm(Compare(*Before(), *AnalyzeWhole(std::move(both))),
                    "the second profile has sessions of 2 programs, or builds of one");
}

TEST(DiffTest, DamagedFilesAreNoted) {
  AnalyzedProfile after;
  after.profile = After()->profile;
  after.stats.damaged_records = 3;
  after.table = BuildExperimentTable(after.profile);
  after.analysis = Analyze(after.profile, after.table);
  ExpectInEveryForm(Compare(*Before(), after),
                    "of the second profile: 3 damaged records were skipped");
}

TEST(DiffTest, DifferentCpusAreNoted) {
  profile::Profile one_cpu = After()->profile;
  one_cpu.mutable_session(0)->mutable_machine()->set_cpu_count(1);
  ExpectInEveryForm(Compare(*Before(), *AnalyzeWhole(one_cpu)),
                    "the number of CPUs that the program could use was 2 in the first profile and "
                    "1 in the second");
  profile::Profile quota = After()->profile;
  quota.mutable_session(0)->mutable_machine()->set_cpu_quota(0.5);
  ExpectInEveryForm(Compare(*Before(), *AnalyzeWhole(quota)),
                    "the program had no CPU quota in the first profile and a quota of 0.5 CPUs in "
                    "the second");
  profile::Profile other_model = After()->profile;
  other_model.mutable_session(0)->mutable_machine()->set_cpu_model("Slow");
  ExpectInEveryForm(Compare(*Before(), *AnalyzeWhole(other_model)),
                    "the first profile was made on Model and the second on Slow");
}

// A run in which the point was not visited.
std::unique_ptr<const AnalyzedProfile> Unvisited() {
  profile::Profile profile = Before()->profile;
  profile.clear_experiment();
  profile.mutable_session(0)->set_id(77);
  for (auto& point : *profile.mutable_progress_point()) point.set_session(77);
  for (auto& unit : *profile.mutable_unit()) unit.set_session(77);
  for (auto& end : *profile.mutable_session_end()) end.set_session(77);
  return AnalyzeWhole(std::move(profile));
}

TEST(DiffTest, AProfileInWhichNothingWasMeasuredIsNoted) {
  ExpectInEveryForm(Compare(*Unvisited(), *After()), "nothing was measured in the first profile: ");
  EXPECT_FALSE(Compare(*Unvisited(), *After()).is_measured);
  EXPECT_TRUE(Compare(*Before(), *After()).is_measured);
}

TEST(DiffTest, APointWithoutBaselinesIsStillInItsProfile) {
  const auto few = Make(1e6, {{10, 0.6, 0.6}}, 12, 1);
  EXPECT_THAT(DiffText(Compare(*few, *After()), 0),
              HasSubstr("requests: too few baselines in the first profile; 699 us a visit in the "
                        "second\n"));
  EXPECT_THAT(DiffText(Compare(*After(), *few), 0),
              HasSubstr("requests: too few baselines in the second profile; 699 us a visit in the "
                        "first\n"));
}

TEST(DiffTest, EveryFormSaysTheSame) {
  ProfileDiff diff = Compare(*Before(), *After());
  diff.before_path = "a.pb";
  diff.after_path = "b.pb";
  EXPECT_THAT(DiffText(diff, 1), HasSubstr("1 more"));
  EXPECT_THAT(DiffText(diff, 0), Not(HasSubstr("more:")));
  const std::string markdown = DiffMarkdown(diff, 0);
  EXPECT_THAT(markdown, HasSubstr("| lost | `work.cc:10` | `Work()` |"));
  EXPECT_THAT(markdown, ::testing::StartsWith(
                            "### Causal profiles compared: before `a.pb`, after `b.pb`\n\n"));
  EXPECT_THAT(markdown, HasSubstr("\nGained: making it faster brings more now; lost: less; "));
  const nlohmann::ordered_json json = DiffJson(diff);
  EXPECT_EQ(json["points"][0]["units"][0]["change"], ChangeId(diff.points[0].lines[0].change));
  EXPECT_EQ(json["schema"], "coz-diff");
  EXPECT_EQ(json["before"], "a.pb");
  for (const nlohmann::ordered_json& line : json["points"][0]["units"]) {
    if (line["line_before"] != 10) continue;
    EXPECT_EQ(line["file_before"], "/src/app/work.cc");
    EXPECT_EQ(line["file_after"], "/src/app/work.cc");
    EXPECT_EQ(line["line_after"], 10);
    EXPECT_EQ(line["headline_before"]["virtual_speedup"], 0.3);
    EXPECT_NEAR(line["headline_before"]["program_speedup"]["value"].get<double>(), 0.18, 0.02);
  }
  EXPECT_NEAR(json["points"][0]["gain"]["value"].get<double>(), 0.3, 0.02);
}

TEST(VerifyTest, PredictionThatCameTrueHeld) {
  const auto found = Verify(*Before(), *After(), {"work.cc:10", std::nullopt});
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  const Verification& v = (*found)[0];
  // 0.6 ms a visit to 0.301.
  EXPECT_NEAR(v.line_speedup.value, 0.5, 0.03);
  EXPECT_NEAR(v.predicted.value, 0.3, 0.03);
  EXPECT_NEAR(v.happened.value, 0.3, 0.02);
  EXPECT_EQ(v.outcome, Outcome::kHeld);
  EXPECT_THAT(
      VerificationText(v),
      ::testing::StartsWith("work.cc:10 at progress point requests: the prediction held\n"));
  EXPECT_THAT(VerificationText(v), Not(HasSubstr("were tried")));
}

TEST(VerifyTest, PredictionThatDidNotComeTrueIsCalledTooHigh) {
  const auto nothing_came = Make(1e6, {{10, 0.3, 0.3}, {20, 0.7, 0.4}}, 9);
  const auto found = Verify(*Before(), *nothing_came, {"work.cc:10", 0.5});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)[0].outcome, Outcome::kTooHigh);
  EXPECT_NEAR((*found)[0].error, 0.3, 0.05);
}

TEST(VerifyTest, WhatOtherProgramsMayHaveDoneIsNotKnown) {
  const auto nothing_came = Make(1e6, {{10, 0.3, 0.3}, {20, 0.7, 0.4}}, 9);
  const auto found = Verify(*Before(), *Crowded(*nothing_came), {"work.cc:10", 0.5});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)[0].outcome, Outcome::kUnclear);
  EXPECT_FALSE(IsOutcome((*found)[0].outcome));
  const std::string text = VerificationText((*found)[0]);
  EXPECT_THAT(text, HasSubstr("not known, as other programs took CPU time from the second run, much"
                              " more than from the other\n"));
  EXPECT_THAT(text, HasSubstr("profile both again, each into a file of its own (-o FILE): `coz "));
  EXPECT_THAT(text, Not(HasSubstr("--append")));
}

TEST(VerifyTest, OtherProgramsBesideTheFirstRunMayHaveMadeThePrediction) {
  const auto found = Verify(*Crowded(*Before()), *After(), {"work.cc:10", 0.5});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)[0].outcome, Outcome::kUnclear);
  EXPECT_THAT(VerificationText((*found)[0]), HasSubstr("from the first run"));
}

TEST(VerifyTest, OtherProgramsBesideBothRunsExplainNoDifference) {
  const auto nothing_came = Make(1e6, {{10, 0.3, 0.3}, {20, 0.7, 0.4}}, 9);
  const auto found =
      Verify(*Crowded(*Before(), 1.2), *Crowded(*nothing_came, 1.25), {"work.cc:10", 0.5});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)[0].outcome, Outcome::kTooHigh) << VerificationText((*found)[0]);
  EXPECT_THAT((*found)[0].note, HasSubstr("in the first profile and "));
}

TEST(VerifyTest, WhatCameInSpiteOfOtherProgramsCame) {
  const auto more_came = Make(0.4e6, {{10, 0.3, 0.3}, {20, 0.7, 0.4}}, 9);
  const auto found = Verify(*Before(), *Crowded(*more_came), {"work.cc:10", 0.5});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)[0].outcome, Outcome::kTooLow);
  const auto held = Verify(*Before(), *Crowded(*After()), {"work.cc:10", std::nullopt});
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ((*held)[0].outcome, Outcome::kHeld);
}

TEST(VerifyTest, BeyondTheSpeedupsTriedThePredictionGoesOn) {
  profile::Profile small = Before()->profile;
  auto& experiments = *small.mutable_experiment();
  const auto kept = std::remove_if(experiments.begin(), experiments.end(),
                                   [](const auto& e) { return e.virtual_speedup() > 0.26; });
  experiments.erase(kept, experiments.end());
  const auto found = Verify(*AnalyzeWhole(small), *After(), {"work.cc:10", std::nullopt});
  ASSERT_TRUE(found.ok()) << found.status();
  const Verification& v = (*found)[0];
  EXPECT_NEAR(v.largest_tried, 0.25, 1e-9);
  EXPECT_NEAR(v.predicted.value, 0.3, 0.05);
  EXPECT_EQ(v.outcome, Outcome::kHeld);
  EXPECT_THAT(VerificationText(v), HasSubstr("speedups up to 25 % were tried; beyond, the "));
  EXPECT_NEAR(VerificationJson(v)["largest_tried"].get<double>(), 0.25, 1e-9);
}

// It takes more than that nothing was predicted and nothing came.
TEST(VerifyTest, WhereNothingChangedNoPredictionHeld) {
  const auto again = Make(1e6, {{10, 0.6, 0.6}, {20, 0.4, 0.4}}, 11);
  const auto found = Verify(*Before(), *again, {"work.cc:10", std::nullopt});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)[0].outcome, Outcome::kUntested);
  EXPECT_THAT(VerificationText((*found)[0]), HasSubstr("not tested, as the line did not become"));
  EXPECT_THAT(VerificationText((*found)[0]), HasSubstr("--by PERCENT"));
  EXPECT_EQ(VerificationJson((*found)[0])["outcome"], "untested");
  const auto by_nothing = Verify(*Before(), *After(), {"work.cc:10", 0.0});
  ASSERT_TRUE(by_nothing.ok()) << by_nothing.status();
  EXPECT_EQ((*by_nothing)[0].outcome, Outcome::kUntested);
}

TEST(VerifyTest, WhereNothingMayHaveHappenedNoPredictionHeld) {
  const auto noisy = Make(0.95e6, {{10, 0.43, 0.43}, {20, 0.57, 0.57}}, 2, 24, 0.6);
  const auto found = Verify(*Before(), *noisy, {"work.cc:10", 0.5});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)[0].outcome, Outcome::kUnclear) << VerificationText((*found)[0]);
  EXPECT_EQ(VerificationJson((*found)[0])["outcome"], "unclear");
  EXPECT_FALSE(IsOutcome((*found)[0].outcome));
}

// The first profile says as little: its interval has nothing in it, and a quarter, too.
TEST(VerifyTest, WherePredictionAndOutcomeMayBeNothingNeitherHeld) {
  const auto vague = Make(1e6, {{10, 0.6, 0.4}}, 21, 120, 0.9);
  const auto noisy = Make(1e6, {{10, 0.6, 0.4}}, 22, 24, 0.6);
  const auto found = Verify(*vague, *noisy, {"work.cc:10", 0.3});
  ASSERT_TRUE(found.ok()) << found.status();
  const Verification& v = (*found)[0];
  ASSERT_LT(v.predicted.low, 0);
  ASSERT_GT(v.predicted.high, 0.03);
  EXPECT_EQ(v.outcome, Outcome::kUnclear) << VerificationText(v);
}

TEST(VerifyTest, NoGainThatWasPredictedHoldsWhereNoneCame) {
  const auto before = Make(1e6, {{10, 0.6, 0.0}, {20, 0.4, 0.4}}, 31);
  const auto after = Make(1e6, {{10, 0.4, 0.0}, {20, 0.6, 0.4}}, 32);
  const auto found = Verify(*before, *after, {"work.cc:10", 0.5});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)[0].outcome, Outcome::kHeld) << VerificationText((*found)[0]);
}

TEST(VerifyTest, LineThatMayHaveBecomeFasterIsNotSaidToBeAsBefore) {
  const auto before = Make(1e6, {{10, 0.05, 0.05}, {20, 0.4, 0.4}}, 41, 40);
  const auto after = Make(1e6, {{10, 0.05, 0.05}, {20, 0.4, 0.4}}, 42, 40);
  const auto found = Verify(*before, *after, {"work.cc:20", std::nullopt});
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ((*found)[0].outcome, Outcome::kUntested);
  EXPECT_THAT(VerificationText((*found)[0]),
              HasSubstr("not tested, as it is not known whether the line became faster"));
}

std::string Refusal(const absl::StatusOr<std::vector<Verification>>& found) {
  return std::string(found.status().message());
}

// The same by functions.
std::unique_ptr<const AnalyzedProfile> ByFunction(const AnalyzedProfile& whole) {
  profile::Profile profile = whole.profile;
  for (profile::Unit& unit : *profile.mutable_unit()) unit.set_kind(profile::UNIT_KIND_FUNCTION);
  profile.mutable_session(0)->mutable_options()->set_unit_kind(profile::UNIT_KIND_FUNCTION);
  return AnalyzeWhole(std::move(profile));
}

TEST(VerifyTest, ProfilesOfDifferentUnitsAreRefused) {
  const auto functions = ByFunction(*After());
  for (const char* line : {"", "work.cc:10"}) {
    EXPECT_THAT(Refusal(Verify(*Before(), *functions, {line, std::nullopt})),
                HasSubstr("the first profile is of lines and the second of functions, so their "
                          "figures cannot be compared"));
  }
  const ProfileDiff diff = Compare(*Before(), *functions);
  const std::string text = DiffText(diff, 0);
  EXPECT_THAT(text, HasSubstr("  note: the first profile is of lines and the second of functions"));
  EXPECT_THAT(text, HasSubstr(" us a visit: 30 % less time (30 to 30)\n"));
  EXPECT_THAT(text, Not(HasSubstr("work.cc")));
  EXPECT_THAT(DiffMarkdown(diff, 0), Not(HasSubstr("work.cc")));
  EXPECT_THAT(DiffJson(diff)["points"][0]["units"], ::testing::IsEmpty());
}

TEST(VerifyTest, ProfilesOfOtherProgramsAreRefused) {
  profile::Profile other = After()->profile;
  for (profile::Unit& unit : *other.mutable_unit()) {
    unit.set_file("/src/other/main.cc");
    unit.set_function("main");
  }
  EXPECT_THAT(Refusal(Verify(*Before(), *AnalyzeWhole(other), {"", std::nullopt})),
              HasSubstr("the profiles have no function and no file in common; they are of `"));
  profile::Profile elsewhere = After()->profile;
  elsewhere.mutable_progress_point(0)->set_name("others");
  EXPECT_THAT(Refusal(Verify(*Before(), *AnalyzeWhole(elsewhere), {"", std::nullopt})),
              HasSubstr("no progress point in common"));
}

TEST(VerifyTest, FunctionsAreCalledFunctions) {
  const auto before = ByFunction(*Make(1e6, {{10, 0.6, 0.6}}, 1));
  const auto again = ByFunction(*Make(1e6, {{10, 0.6, 0.6}}, 11));
  EXPECT_THAT(Refusal(Verify(*before, *again, {"", std::nullopt})),
              ::testing::AllOf(HasSubstr("of the functions that the first"),
                               HasSubstr("coz verify --line FUNCTION BEFORE AFTER")));
  const auto found = Verify(*before, *again, {"Work", std::nullopt});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(VerificationText((*found)[0]), HasSubstr("as the function did not become faster"));
  const auto few = ByFunction(*Make(1e6, {{10, 0.6, 0.6}}, 12, 2));
  EXPECT_THAT(Refusal(Verify(*few, *again, {"Work", std::nullopt})),
              HasSubstr("or with coz run --unit=function --fixed-line Work"));
  profile::Profile alone = few->profile;
  alone.mutable_session(0)->mutable_options()->add_fixed_line("Work");
  EXPECT_THAT(Refusal(Verify(*AnalyzeWhole(alone), *again, {"Work", std::nullopt})),
              HasSubstr("it tried that alone; profile it longer: coz run --append"));
}

TEST(VerifyTest, OneRunIsNoChange) {
  EXPECT_THAT(Refusal(Verify(*Before(), *Before(), {"work.cc:10", 0.5})),
              HasSubstr("both profiles are of the same run, so nothing changed"));
}

TEST(VerifyTest, BlamesTheProfileThatLacksSomething) {
  profile::Profile renamed = After()->profile;
  renamed.mutable_progress_point(0)->set_name("others");
  EXPECT_THAT(Refusal(Verify(*Before(), *AnalyzeWhole(renamed), {"work.cc:10", std::nullopt})),
              HasSubstr("the second profile has no progress point requests, at which the first has "
                        "predictions; it has others"));
  // One baseline is too few to tell how certain the time per visit is.
  profile::Profile few = After()->profile;
  int kept = 0;
  for (profile::Experiment& experiment : *few.mutable_experiment()) {
    if (experiment.virtual_speedup() == 0 && ++kept > 1) experiment.set_virtual_speedup(0.5);
  }
  EXPECT_THAT(Refusal(Verify(*Before(), *AnalyzeWhole(few), {"work.cc:10", 0.5})),
              HasSubstr("the second profile has fewer than two baselines at requests"));
  const auto without = Make(0.5e6, {{20, 0.9, 0.9}}, 10);
  EXPECT_THAT(Refusal(Verify(*Before(), *without, {"work.cc:10", std::nullopt})),
              HasSubstr("the second profile has no sample of it"));
  const auto nothing = Make(1e6, {{10, 0.6, 0.6}}, 12, 2);
  EXPECT_THAT(Refusal(Verify(*nothing, *After(), {"work.cc:10", std::nullopt})),
              HasSubstr("the first profile has no prediction for work.cc:10 yet"));
}

TEST(VerifyTest, AttachedProfilesNameTheirCommand) {
  profile::Profile few = Make(1e6, {{10, 0.6, 0.6}}, 12, 2)->profile;
  few.mutable_session(0)->mutable_options()->set_attached_pid(4711);
  EXPECT_THAT(Refusal(Verify(*AnalyzeWhole(few), *After(), {"work.cc:10", std::nullopt})),
              HasSubstr("or with coz attach --fixed-line work.cc:10"));
  EXPECT_THAT(Refusal(Verify(*AnalyzeWhole(few), *After(), {"work.cc:99", std::nullopt})),
              HasSubstr("profile for longer: coz attach --append"));
  few = After()->profile;
  few.mutable_session(0)->mutable_options()->set_attached_pid(4711);
  int kept = 0;
  for (profile::Experiment& experiment : *few.mutable_experiment()) {
    if (experiment.virtual_speedup() == 0 && ++kept > 1) experiment.set_virtual_speedup(0.5);
  }
  EXPECT_THAT(Refusal(Verify(*Before(), *AnalyzeWhole(few), {"work.cc:10", 0.5})),
              HasSubstr("is not known; profile longer: coz attach --append"));
}

// The first profile's work.cc:20 is where the second one has the line that became faster.
TEST(VerifyTest, ALineThatMovedIsHeldBesideItself) {
  const auto before = Make(1e6, {{10, 0.6, 0.6, "Decode()"}, {20, 0.4, 0.4, "Update()"}}, 1);
  const auto after = Make(0.7e6, {{20, 0.43, 0.43, "Decode()"}, {30, 0.57, 0.57, "Update()"}}, 2);
  for (const char* line : {"", "work.cc:10"}) {
    const auto found = Verify(*before, *after, {line, std::nullopt});
    ASSERT_TRUE(found.ok()) << found.status();
    const Verification& v = found->front();
    EXPECT_NEAR(v.line_speedup.value, 0.5, 0.03);
    EXPECT_EQ(v.outcome, Outcome::kHeld);
    EXPECT_THAT(VerificationText(v), ::testing::StartsWith("work.cc:10 (now 20) at progress"));
    EXPECT_EQ(VerificationJson(v)["line_after"], "/src/app/work.cc:20");
  }
  const auto other = Verify(*before, *after, {"work.cc:20", std::nullopt});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->front().line_after, "/src/app/work.cc:30");
  EXPECT_EQ(other->front().outcome, Outcome::kUntested);
}

TEST(VerifyTest, ALineThatBecameSlowerIsNotTestedAndSaidToBeSlower) {
  for (const char* line : {"", "work.cc:10"}) {
    const auto found = Verify(*After(), *Before(), {line, std::nullopt});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->front().line, "/src/app/work.cc:10");
    EXPECT_EQ(found->front().outcome, Outcome::kUntested);
    const std::string text = VerificationText(found->front());
    EXPECT_THAT(text, HasSubstr("not tested, as the line became slower\n"
                                "  it became slower by        +10"));
    EXPECT_THAT(text, HasSubstr("\n  what it costs the program, and what else changed, says: coz "
                                "diff BEFORE AFTER\n"));
    EXPECT_THAT(text, Not(HasSubstr("predicted")));
    EXPECT_THAT(text, Not(HasSubstr("--by")));
    const nlohmann::ordered_json json = VerificationJson(found->front());
    EXPECT_TRUE(json["predicted"]["value"].is_null());
    EXPECT_LT(json["line_speedup"]["high"].get<double>(), 0);
  }
}

TEST(VerifyTest, WhereBothRunsAreToBeMadeAgainNeitherIsToGoOn) {
  const auto noisy = Make(0.95e6, {{10, 0.43, 0.43}, {20, 0.57, 0.57}}, 2, 24, 0.6);
  const auto crowded =
      Verify(*Crowded(*Before(), 1.2), *Crowded(*noisy, 1.25), {"work.cc:10", 0.5});
  ASSERT_TRUE(crowded.ok()) << crowded.status();
  ASSERT_EQ(crowded->front().outcome, Outcome::kUnclear);
  ASSERT_EQ(crowded->front().disturbed_run, "");
  EXPECT_THAT(VerificationText(crowded->front()), HasSubstr("profile both again"));
  EXPECT_THAT(VerificationText(crowded->front()), Not(HasSubstr("--append")));
  const auto alone = Verify(*Before(), *noisy, {"work.cc:10", 0.5});
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_THAT(VerificationText(alone->front()), HasSubstr("--append"));
}

TEST(VerifyTest, OneBuildTwiceIsNoChange) {
  const auto again = Make(1e6, {{10, 0.6, 0.6}, {20, 0.4, 0.4}}, 11);
  EXPECT_THAT(Refusal(Verify(*AnalyzeWhole(OfBuild(*Before(), "\x12\x34")),
                             *AnalyzeWhole(OfBuild(*again, "\x12\x34")), {"", std::nullopt})),
              HasSubstr("both profiles are of the same build of server (build-id 1234)"));
}

TEST(VerifyTest, AProfileInWhichNothingWasMeasuredIsNamed) {
  EXPECT_THAT(Refusal(Verify(*Unvisited(), *After(), {"", std::nullopt})),
              HasSubstr("in the first profile nothing was measured: "));
  EXPECT_THAT(Refusal(Verify(*After(), *Unvisited(), {"", std::nullopt})),
              HasSubstr("in the second profile nothing was measured: "));
}

TEST(VerifyTest, ASmallSpeedupIsNotShownAsNone) {
  const auto found = Verify(*Before(), *After(), {"work.cc:10", 0.003});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(VerificationText(found->front()), HasSubstr("it became faster by        0.3 %\n"));
}

TEST(VerifyTest, AnotherFunctionAtTheSameLineIsRefused) {
  const auto before = Make(1e6, {{10, 0.6, 0.6, "Decode()"}, {20, 0.4, 0.4, "Update()"}}, 1);
  const auto after = Make(0.7e6, {{20, 0.43, 0.43, "Decode()"}}, 2);
  EXPECT_THAT(Refusal(Verify(*before, *after, {"work.cc:20", std::nullopt})),
              HasSubstr("work.cc:20 is in Update() in the first profile and in Decode() in the "
                        "second"));
  const auto said = Verify(*before, *after, {"work.cc:20", 0.5});
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_TRUE(VerificationJson(said->front())["line_after"].is_null());
}

TEST(VerifyTest, ProfilesFromTwoFoldersAreCompared) {
  const auto before = Make(1e6, {{10, 0.6, 0.6, "A()", "/ci/job1/work.cc"}}, 1);
  const auto after = Make(0.7e6, {{10, 0.43, 0.43, "A()", "/ci/job2/work.cc"}}, 2);
  const auto found = Verify(*before, *after, {"", std::nullopt});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->front().shown, "work.cc:10");
  EXPECT_EQ(found->front().line_after, "/ci/job2/work.cc:10");
}

TEST(VerifyTest, UnknownLineNamesThoseWithPredictions) {
  const auto found = Verify(*Before(), *After(), {"nowhere.cc:1", std::nullopt});
  EXPECT_EQ(found.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("--line work.cc:10"));
}

TEST(VerifyTest, WithoutANameItIsOfTheLineThatSavesMost) {
  const auto found = Verify(*Before(), *After(), {"", std::nullopt});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)[0].shown, "work.cc:10");
  const auto again = Make(1e6, {{10, 0.6, 0.6}, {20, 0.4, 0.4}}, 11);
  EXPECT_THAT(Refusal(Verify(*Before(), *again, {"", std::nullopt})),
              HasSubstr("none became faster, as far as samples tell; name what was made faster"));
}

TEST(VerifyTest, LineThatIsGoneNeedsItsSpeedupSaid) {
  const auto without = Make(0.5e6, {{20, 0.9, 0.9}}, 10);
  const auto found = Verify(*Before(), *without, {"work.cc:10", std::nullopt});
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("--by PERCENT"));
  EXPECT_TRUE(Verify(*Before(), *without, {"work.cc:10", 1.0}).ok());
}

class HistoryTest : public ::testing::Test {
 protected:
  const std::string path_ = ::testing::TempDir() + "/history.jsonl";
  void SetUp() override { std::remove(path_.c_str()); }
};

TEST_F(HistoryTest, EntriesReadBackAndAreScored) {
  HistoryEntry entry;
  entry.time_s = 1700000000;
  entry.verification.line = "a.cc:1";
  entry.verification.point = "p";
  entry.verification.line_speedup = {0.5, 0.5, 0.5};
  entry.verification.predicted = {0.30, 0.25, 0.35};
  entry.verification.happened = {0.28, 0.26, 0.30};
  ASSERT_TRUE(AppendHistory(path_, entry).ok());
  entry.verification.happened = {0.10, 0.08, 0.12};
  entry.verification.outcome = Outcome::kTooHigh;
  ASSERT_TRUE(AppendHistory(path_, entry).ok());
  std::ofstream(path_, std::ios::app) << "not json\n{}\n";
  const auto history = ReadHistory(path_);
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(history->entries.size(), 2u);
  EXPECT_EQ(history->damaged_lines, 2u);
  EXPECT_EQ(history->entries[1].verification.outcome, Outcome::kTooHigh);
  const std::string text = HistoryText(*history);
  EXPECT_THAT(text, HasSubstr("1 of 2 predictions held; mean error 11.0 points, too high by 11.0"));
  EXPECT_THAT(text, HasSubstr("2023-11-14"));
  EXPECT_EQ(HistoryJson(*history)["held"], 1);
}

TEST_F(HistoryTest, OnePairOfProfilesCountsOnce) {
  HistoryEntry entry;
  entry.time_s = 1700000000;
  entry.verification.line = "a.cc:1";
  entry.verification.point = "p";
  entry.verification.line_speedup = {0.5123456789012345, 0.4, 0.6};
  entry.verification.predicted = {1.0 / 3, 0.25, 0.35};
  entry.verification.happened = {0.28, 0.26, 0.30};
  EXPECT_TRUE(AppendHistory(path_, entry).value());
  entry.time_s += 60;
  EXPECT_FALSE(AppendHistory(path_, entry).value());
  EXPECT_EQ(ReadHistory(path_)->entries.size(), 1u);
  entry.verification.point = "q";
  EXPECT_TRUE(AppendHistory(path_, entry).value());
  // Two branches may have recorded it.
  std::ostringstream lines;
  lines << std::ifstream(path_).rdbuf();
  std::ofstream(path_, std::ios::app) << lines.str();
  const auto history = ReadHistory(path_);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->entries.size(), 2u);
  EXPECT_EQ(history->repeated_lines, 2u);
  EXPECT_THAT(HistoryText(*history), HasSubstr("which counts once: 2\n2 of 2 predictions held"));
}

TEST_F(HistoryTest, WithoutEntriesThereIsNoMeanError) {
  const nlohmann::ordered_json json = HistoryJson(History());
  EXPECT_TRUE(json["mean_error"].is_null());
  EXPECT_TRUE(json["mean_bias"].is_null());
  EXPECT_EQ(json["held"], 0);
}

// As on a full disk: the file can be opened and takes nothing.
TEST_F(HistoryTest, WhatCannotBeWrittenIsToldWithWhatHelps) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  const absl::Status status = AppendHistory(path_, HistoryEntry()).status();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(": File too large; name a file that you may write with --history FILE"));
}

TEST_F(HistoryTest, OnANarrowTerminalAnEntryHasTwoRows) {
  History history;
  HistoryEntry entry;
  entry.time_s = 1700000000;
  entry.verification.line = "a.cc:1";
  entry.verification.point = "requests";
  entry.verification.line_speedup = {0.5, 0.4, 0.6};
  history.entries = {entry};
  EXPECT_THAT(HistoryText(history, 60),
              HasSubstr("2023-11-14  held  a.cc:1 at requests\n"
                        "  line faster 50 %, predicted +0.0 %, happened +0.0 %\n"));
  EXPECT_EQ(HistoryText(history, 100), HistoryText(history));
}

TEST_F(HistoryTest, AnEntryIsShownAsItWasRecorded) {
  HistoryEntry entry;
  entry.time_s = 1700000000;
  entry.verification.line = "a.cc:1";
  entry.verification.line_after = "a.cc:5";
  entry.verification.point = "p";
  entry.verification.line_speedup = {0.5, 0.4, 0.6};
  entry.verification.largest_tried = 0.6;
  entry.verification.predicted = {0.05, 0, 0.1};
  entry.verification.is_limit = true;
  entry.verification.happened = {0.1, 0.05, 0.15};
  entry.verification.note = "other programs used 71 %";
  ASSERT_TRUE(AppendHistory(path_, entry).ok());
  const auto history = ReadHistory(path_);
  ASSERT_TRUE(history.ok()) << history.status();
  nlohmann::ordered_json shown = HistoryJson(*history)["entries"][0];
  shown.erase("time_s");
  EXPECT_EQ(shown, VerificationJson(entry.verification));
}

TEST_F(HistoryTest, AFileThatIsNoHistoryIsNeitherReadNorChanged) {
  const std::string text = "dear diary\nnothing happened";
  std::ofstream(path_) << text;
  EXPECT_THAT(std::string(ReadHistory(path_).status().message()), HasSubstr("is no history"));
  EXPECT_THAT(std::string(AppendHistory(path_, HistoryEntry()).status().message()),
              HasSubstr("is no history"));
  std::ostringstream left;
  left << std::ifstream(path_).rdbuf();
  EXPECT_EQ(left.str(), text);
}

TEST_F(HistoryTest, AFolderIsNoHistory) {
  EXPECT_THAT(std::string(ReadHistory(::testing::TempDir()).status().message()),
              HasSubstr("Is a directory"));
  EXPECT_THAT(std::string(AppendHistory(::testing::TempDir(), HistoryEntry()).status().message()),
              HasSubstr("Is a directory"));
}

TEST_F(HistoryTest, MissingFileIsAnError) {
  const absl::Status status = ReadHistory("/nonexistent/history").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("coz verify"));
}

}  // namespace
}  // namespace coz::report
