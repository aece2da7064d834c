#include "coz/report/report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/synthetic_profile.h"
#include "coz/report/wording/text_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

using report_testing::SyntheticLine;
using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

std::string Save(const profile::Profile& profile) {
  std::string path = ::testing::TempDir() + "/report.pb";
  std::ofstream(path, std::ios::binary) << profile.SerializeAsString();
  return path;
}

std::string ReportOf(const profile::Profile& profile, int width = 100) {
  setenv("TZ", "UTC", 1);
  tzset();
  ReportOptions options;
  options.path = Save(profile);
  options.text.width = width;
  std::ostringstream out;
  const absl::Status status = RunReport(options, out);
  EXPECT_TRUE(status.ok()) << status;
  // What, why and what to do have room in three rows of a usual terminal.
  for (absl::string_view line : absl::StrSplit(out.str(), '\n')) {
    if (!absl::StartsWith(line, "  note: ")) continue;
    EXPECT_LE(DisplayWidth(line), 300) << line;
  }
  return out.str();
}

profile::Profile FourLines() {
  SyntheticProfile made(
      {}, {{"/home/me/app/src/parse.cc", 41, "app::Parser::Next(std::string_view)", 0.4, 0.45, {}},
           {"/home/me/app/src/größe.cc", 7, "Grow()", 0.2, 0, {}},
           {"/home/me/app/lib/lock.cc",
            103,
            "app::Lock<std::mutex>::Acquire(int, long)",
            0.15,
            -0.3,
            {}},
           {"/home/me/app/lib/rare.cc", 9, "Rare()", 0.02, 0, {}}});
  made.AddRandomExperiments(120);
  made.End();
  return made.profile();
}

TEST(ReportTest, TableOfAFixedProfileIsAsExpected) {
  std::ifstream golden("coz/report/testdata/report.golden.txt");
  const std::string expected(std::istreambuf_iterator<char>(golden), {});
  const std::string actual = ReportOf(FourLines());
  EXPECT_EQ(actual, expected)
      << "if this is meant, put it into coz/report/testdata/report.golden.txt:\n"
      << actual;
}

TEST(ReportTest, JsonHoldsWhatTheTextSays) {
  ReportOptions options;
  options.path = Save(FourLines());
  options.format = ReportFormat::kJson;
  std::ostringstream out;
  ASSERT_TRUE(RunReport(options, out).ok());
  EXPECT_THAT(out.str(), HasSubstr("\"name\": \"/home/me/app/src/parse.cc:41\""));
  EXPECT_THAT(out.str(), HasSubstr("\"verdict\": \"faster\""));
}

std::string ReportWith(const TextOptions& text, const profile::Profile& profile = FourLines()) {
  ReportOptions options;
  options.path = Save(profile);
  options.text = text;
  std::ostringstream out;
  EXPECT_TRUE(RunReport(options, out).ok());
  return out.str();
}

TEST(ReportTest, ColourIsOnlyThereWhenAskedForAndChangesNoText) {
  TextOptions text;
  const std::string plain = ReportWith(text);
  text.color = true;
  std::string coloured = ReportWith(text);
  EXPECT_THAT(coloured, HasSubstr("\033[1;32mworth it\033[0m"));
  EXPECT_THAT(coloured, HasSubstr("\033[1;31mhurts\033[0m"));
  for (const char* code :
       {"\033[1;32m", "\033[1;31m", "\033[1m", "\033[2m", "\033[33m", "\033[0m"}) {
    coloured = absl::StrReplaceAll(coloured, {{code, ""}});
  }
  EXPECT_EQ(coloured, plain);
}

TEST(ReportTest, VerboseShowsEachSpeedupAsAskedForAndAsAchieved) {
  TextOptions text;
  text.verbose = true;
  const std::string report = ReportWith(text);
  EXPECT_THAT(report, HasSubstr("speedup  achieved  program  95 % interval"));
  EXPECT_THAT(report, HasSubstr("100 %   100.0 %    +46 %"));
  EXPECT_THAT(report, HasSubstr(" slope 0.45 ±0.02; p-value "));
  EXPECT_THAT(report, HasSubstr("speeds `requests` up by"));
}

TEST(ReportTest, WideTerminalsGetPlotsOnOneScale) {
  TextOptions text;
  text.width = 130;
  const std::string report = ReportWith(text);
  EXPECT_THAT(report, HasSubstr("▁ is -29 %, █ is +45 %"));
  EXPECT_THAT(report, HasSubstr("█   40.1 %"));
  text.width = 100;
  EXPECT_THAT(ReportWith(text), Not(HasSubstr("█")));
}

TEST(ReportTest, OneLinesLossDoesNotFlattenTheOtherPlots) {
  SyntheticProfile made(
      {}, {{"/src/app/a.cc", 5, "A()", 0.5, 0.4, {}}, {"/src/app/b.cc", 6, "B()", 0.5, -5, {}}});
  made.AddRandomExperiments(200);
  made.End();
  EXPECT_THAT(ReportOf(made.profile(), 130), HasSubstr("▁ is -100 % or less, █ is +"));
}

TEST(ReportTest, AConditionThatHoldsAbortsAfterTheReport) {
  ReportOptions options;
  options.path = Save(FourLines());
  options.fail_if = {"slope(parse.cc:41) > 0.9", "slope(parse.cc:41) > 0.3"};
  std::ostringstream out;
  const absl::Status status = RunReport(options, out);
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("parse.cc:41"));
  EXPECT_THAT(out.str(), HasSubstr("verdict"));
  options.fail_if = {"slope(nowhere.cc:*) > 0"};
  EXPECT_EQ(RunReport(options, out).code(), absl::StatusCode::kNotFound);
}

TEST(ReportTest, WithoutFiguresNoConditionIsAnError) {
  profile::Profile profile = FourLines();
  profile.clear_experiment();
  ReportOptions options;
  options.path = Save(profile);
  options.fail_if = {"slope(*) > 0"};
  std::ostringstream out;
  bool measured = true;
  EXPECT_TRUE(RunReport(options, out, &measured).ok());
  EXPECT_FALSE(measured);
}

// Its verdicts, conditions and notes name `coz attach`.
TEST(ReportTest, AttachedProfileNamesItsCommand) {
  SyntheticOptions missed;
  missed.achieved_share = 0.83;
  SyntheticProfile made(
      missed, {{"/src/a.cc", 5, "A()", 0.5, 0.4, {}}, {"/src/rare.cc", 9, "Rare()", 0.3, 0, {}}});
  for (int i = 0; i < 120; ++i) made.AddExperiment(0, i % 6 * 0.1);
  made.AddExperiment(1, 0.5);
  made.End();
  profile::Profile profile = made.profile();
  profile.mutable_session(0)->mutable_options()->set_attached_pid(4711);
  ReportOptions options;
  options.path = Save(profile);
  options.text.verbose = true;
  options.fail_if = {"slope(rare.cc:9) > 0"};
  std::ostringstream out;
  EXPECT_THAT(std::string(RunReport(options, out).message()),
              HasSubstr("with `coz attach --until=20` for example"));
  EXPECT_THAT(out.str(), AllOf(HasSubstr("`coz attach --awake`"), Not(HasSubstr("coz run"))));
}

TEST(ReportTest, PlacesAreCalledSoHoweverTheyAreCounted) {
  profile::Profile profile = FourLines();
  profile.mutable_progress_point(0)->set_kind(profile::PROGRESS_POINT_KIND_BREAKPOINT);
  profile.mutable_progress_point(0)->set_counted_by("jump to a stub");
  EXPECT_THAT(ReportOf(profile),
              ContainsRegex("requests \\(place\\): [0-9]+ visits, counted by jump"));
}

TEST(ReportTest, LinesFitTheTerminal) {
  for (int width : {45, 60, 80, 82, 100, 160}) {
    TextOptions text;
    text.width = width;
    text.wrap = true;
    text.verbose = true;
    for (const std::string& line :
         std::vector<std::string>(absl::StrSplit(ReportWith(text), '\n'))) {
      // Commands are not cut: they are to be copied.
      if (absl::StrContains(line, "`coz ")) continue;
      EXPECT_LE(DisplayWidth(line), width) << line;
    }
  }
}

TEST(ReportTest, RowsFitWithoutBeingBroken) {
  std::vector<SyntheticLine> lines(12);
  for (uint32_t i = 0; i < 12; ++i) {
    lines[i].file = "/home/me/app/src/some_file.cc";
    lines[i].line = 100 + i;
    lines[i].function = "app::Parser::Next(std::string_view)";
    lines[i].share = 0.08;
    lines[i].slope = -0.2;
  }
  SyntheticOptions noisy;
  noisy.noise = 0.5;
  SyntheticProfile made(noisy, lines);
  made.AddRandomExperiments(400);
  for (int width = 48; width < 130; ++width) {
    const std::string report = ReportOf(made.profile(), width);
    ASSERT_THAT(report, HasSubstr("not yet known\n"));
    for (absl::string_view line : absl::StrSplit(report, '\n')) {
      if (!absl::EndsWith(line, "not yet known")) continue;
      EXPECT_LE(DisplayWidth(line), width) << line;
    }
  }
}

TEST(ReportTest, NarrowTerminalsKeepPlaceGainAndVerdict) {
  TextOptions text;
  text.width = 50;
  const std::string report = ReportWith(text);
  EXPECT_THAT(report, HasSubstr(" #  line "));
  EXPECT_THAT(report, HasSubstr("gain at 30 %  verdict\n"));
}

TEST(ReportTest, SaysWhatSetAsideLinesLack) {
  SyntheticProfile made({}, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  for (double s : {0.0, 0.2}) made.AddExperiment(0, s);
  const std::string text = ReportOf(made.profile());
  EXPECT_THAT(text, HasSubstr("needs 2 more speedup values"));
  EXPECT_THAT(text, HasSubstr("coz run --fixed-line a.cc:5 --- ./app --threads=2"));
  EXPECT_THAT(text, HasSubstr("without an end"));
}

TEST(ReportTest, BaselinesAloneAreNotToBeContinued) {
  SyntheticProfile made({}, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  for (int i = 0; i < 12; ++i) made.AddExperiment(0, 0);
  EXPECT_THAT(ReportOf(made.profile()), HasSubstr("needs 3 more speedup values"));
  profile::Options* const options = made.profile().mutable_session(0)->mutable_options();
  options->add_fixed_line("a.cc:5");
  options->add_fixed_virtual_speedup(0);
  const std::string text = ReportOf(made.profile());
  EXPECT_THAT(text, HasSubstr("  Only baselines were to be made, by --fixed-speedup=0, so nothing "
                              "has a gain; for gains: `coz run --fixed-line=a.cc:5 "
                              "--sampling-period=1 --- ./app --threads=2`\n"));
  EXPECT_THAT(text, Not(HasSubstr("more speedup value")));
  EXPECT_THAT(text, Not(HasSubstr("run longer")));
}

// One line that is tried, a larger one that is not, and many small ones.
profile::Profile HardlyTried() {
  std::vector<SyntheticLine> lines = {{"/src/a.cc", 5, "A()", 0.2, 0.5, {}},
                                      {"/src/inl.h", 3, "Inlined()", 0.4, 0, {}}};
  for (uint32_t i = 1; i <= 400; ++i) lines.push_back({"/src/c.cc", i, "C()", 0.001, 0, {}});
  SyntheticProfile made({}, lines);
  made.AddExperiment(0, 0.2);
  for (int i = 0; i < 20; ++i) made.AddExperiment(0, 0);
  return made.profile();
}

TEST(ReportTest, NamesLinesThatWereNotTried) {
  const std::string text = ReportOf(HardlyTried());
  EXPECT_THAT(text, ContainsRegex("1 line, too few speedup values; 1 line, not tried yet\n"
                                  "    inl.h:3  [34].\\.. %   0 exp.  no experiment yet\n"));
  EXPECT_THAT(text, HasSubstr("next: run longer, or look at one line with `coz run --fixed-line "
                              "inl.h:3 --- "));
  EXPECT_THAT(text, HasSubstr("  Not tried yet: 400 lines, each with less than 0.5 % of the "
                              "samples, have 40 % together; look at larger parts with `coz run "
                              "--unit=function --- ./app --threads=2`\n"));
}

TEST(ReportTest, NothingIsSaidOfLinesThatWereNotToBeTried) {
  profile::Profile profile = HardlyTried();
  profile.mutable_session(0)->mutable_options()->add_fixed_line("a.cc:5");
  EXPECT_THAT(ReportOf(profile), Not(HasSubstr("not tried")));
  EXPECT_THAT(ReportOf(profile), Not(HasSubstr("Not tried")));
}

TEST(ReportTest, NextCommandIsForTheOpenLineWithMostSamples) {
  SyntheticOptions noisy;
  noisy.noise = 0.3;
  SyntheticProfile made(
      noisy, {{"/src/a.cc", 5, "A()", 0.5, 0.2, {}}, {"/src/a.cc", 6, "B()", 0.3, 0.2, {}}});
  for (int i = 0; i < 12; ++i) made.AddExperiment(0, i % 4 * 0.3);
  made.AddExperiment(1, 0.2);
  const std::string text = ReportOf(made.profile());
  ASSERT_THAT(text, ContainsRegex(" 1  a.cc:5 .* not yet known\n"));
  EXPECT_THAT(text, HasSubstr("    a.cc:6  29.8 %  1 exp."));
  EXPECT_THAT(text, HasSubstr("look at one line with `coz run --fixed-line a.cc:5 --- "));
}

TEST(ReportTest, AllLinesThatAreSetAsideAreShownWhereAllAreAskedFor) {
  std::vector<SyntheticLine> lines;
  for (uint32_t i = 1; i <= 9; ++i) lines.push_back({"/src/a.cc", i, "A()", 0.1, 0, {}});
  SyntheticProfile made({}, lines);
  made.AddExperiment(0, 0.2);
  EXPECT_THAT(ReportOf(made.profile()),
              ContainsRegex("\n    and 4 lines more, with 3.\\.. % of the samples: `coz report "));
  TextOptions all;
  all.max_lines = 0;
  const std::string text = ReportWith(all, made.profile());
  for (const SyntheticLine& line : lines) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\n    a.cc:", line.line, "  ")));
  }
}

TEST(ReportTest, SaysOfSmallLinesThatTheyBringNothing) {
  SyntheticProfile made({}, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}},
                             {"/src/a.cc", 6, "B()", 0.02, 0, {}},
                             {"/src/a.cc", 7, "C()", 0.01, 0, {}}});
  for (int i = 0; i < 40; ++i) made.AddExperiment(0, i % 2 * 0.5);
  const std::string text = ReportOf(made.profile());
  EXPECT_THAT(text, HasSubstr("needs 2 more speedup values"));
  EXPECT_THAT(text, HasSubstr("run longer, or look at one line with"));
  EXPECT_THAT(text, HasSubstr("  No gain: 2 lines take so little CPU time that each, made 30 % "
                              "faster, brings at most 2 %\n"));
  EXPECT_THAT(text, Not(HasSubstr("Together"))) << "a line that takes half of the time is open";
}

// Many lines of 1 %, some of which were tried.
TEST(ReportTest, SmallLinesThatAreAllNameLargerParts) {
  std::vector<SyntheticLine> lines;
  for (uint32_t i = 1; i <= 100; ++i) lines.push_back({"/src/a.cc", i, "A()", 0.01, 0, {}});
  SyntheticOptions noisy;
  noisy.noise = 0.1;
  SyntheticProfile made(noisy, lines);
  for (int i = 0; i < 40; ++i) made.AddExperiment(0, 0);
  for (double speedup : {0.2, 0.5, 0.8}) made.AddExperiment(1, speedup);
  const std::string text = ReportOf(made.profile());
  EXPECT_THAT(text, HasSubstr("at most 0.7 %  by its samples"));
  EXPECT_THAT(text, HasSubstr("  No gain: 99 lines take"));
  EXPECT_THAT(text,
              HasSubstr("  Together the small lines have 100 % of the samples; look at larger "
                        "parts with `coz run --unit=function --- ./app --threads=2`\n"));
  EXPECT_THAT(text, HasSubstr("\nat most 2 %, by its samples: the line takes too little"));
}

TEST(ReportTest, NextCommandCountsWhatThisOneCounted) {
  SyntheticProfile made({}, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  for (double s : {0.0, 0.2}) made.AddExperiment(0, s);
  profile::Profile profile = made.profile();
  profile.mutable_session(0)->mutable_options()->add_progress("Serve");
  EXPECT_THAT(ReportOf(profile), HasSubstr("run longer, or look at one line with `coz run "
                                           "--progress=Serve --fixed-line a.cc:5 --- ./app"));
  profile.mutable_session(0)->mutable_options()->Clear();
  profile.mutable_session(0)->mutable_options()->set_end_to_end(true);
  EXPECT_THAT(ReportOf(profile), HasSubstr("next: make more runs, with --repeat=40, or look at one "
                                           "line with `coz run --end-to-end --repeat=40 --fixed"));
}

TEST(ReportTest, ProfileWithoutPointsSaysHowToAddOne) {
  profile::Profile bare = SyntheticProfile({}, {}).profile();
  bare.clear_progress_point();
  EXPECT_THAT(ReportOf(bare), HasSubstr("COZ_PROGRESS"));
}

TEST(ReportTest, UnvisitedPointsAreNamed) {
  SyntheticProfile made({}, {});
  EXPECT_THAT(ReportOf(made.profile()),
              HasSubstr("\nNothing was measured: no progress point was visited.\n"
                        "  The program has requests; give it work"));
}

TEST(ReportTest, NoExperimentSaysHowLongToRun) {
  SyntheticProfile made({}, {{}});
  profile::SampleCounts* counts = made.profile().add_sample_counts();
  counts->set_session(made.options().session);
  counts->add_unit_id(1);
  counts->add_unit_samples(10);
  counts->add_point()->set_point(1);
  counts->mutable_point(0)->set_visits(100);
  EXPECT_THAT(ReportOf(made.profile()),
              HasSubstr("\nNothing was measured: no experiment was finished.\n"));
}

TEST(ReportTest, TaintsFallbackAndCutsAreNoted) {
  profile::Profile made = FourLines();
  made.mutable_session(0)->set_fallback_reason("perf is forbidden (EACCES)");
  made.mutable_experiment(0)->mutable_validity()->add_taint()->set_reason(
      profile::Taint::OWED_DELAY);
  made.mutable_experiment(1)->mutable_validity()->add_taint()->set_reason(
      profile::Taint::SUPERVISOR_LATE);
  made.clear_session_end();
  const std::string text = absl::StrReplaceAll(ReportOf(made, 300), {{"\n", " "}});
  EXPECT_THAT(text, HasSubstr("note: perf is forbidden (EACCES)"));
  EXPECT_THAT(text, HasSubstr("2 experiments not used: 1 delay still owed at the end, 1 without "
                              "delays at its end, as coz got no CPU in time"));
  EXPECT_THAT(text, HasSubstr("cut short, or still running"));
}

// The profile is of 2023.
TEST(ReportTest, SaysThatASourceWasChangedSinceItWasMeasured) {
  EXPECT_THAT(ReportOf(FourLines()), Not(HasSubstr("changed after")));
  profile::Profile profile = FourLines();
  for (profile::Unit& unit : *profile.mutable_unit()) {
    if (unit.line() != 41) continue;
    unit.set_file(::testing::TempDir() + "/edited.cc");
    std::ofstream(unit.file()) << "int a;\n";
  }
  EXPECT_THAT(absl::StrReplaceAll(ReportOf(profile, 300), {{"\n", " "}}),
              HasSubstr("note: edited.cc was changed after the profile was begun, so its lines"));
}

TEST(ReportTest, LoopsOfALibraryAreNotTheUsersToChange) {
  profile::Profile made = FourLines();
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_spinning_samples(experiment.total_samples() / 2);
  }
  EXPECT_THAT(ReportOf(made), AllOf(HasSubstr("COZ_PRE_BLOCK"), Not(HasSubstr("OMP_WAIT_POLICY"))));
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_spinning_outside_samples(experiment.total_samples() / 3);
  }
  EXPECT_THAT(ReportOf(made),
              AllOf(HasSubstr("OMP_WAIT_POLICY=passive"), Not(HasSubstr("COZ_PRE_BLOCK"))));
}

TEST(ReportTest, SaysThatTheMachineWasCrowded) {
  profile::Profile made = FourLines();
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("more threads of the program")));
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_cpus(2);
    experiment.mutable_validity()->set_runnable_threads_average(3.5);
  }
  EXPECT_THAT(ReportOf(made),
              HasSubstr("more threads of the program were runnable (3.5 on average)"));
}

// A thread of the program and two of others on two CPUs.
TEST(ReportTest, OtherProgramsAreNotTakenForTheProgramsOwnThreads) {
  profile::Profile made = FourLines();
  const auto live_threads = [&made](uint32_t threads) {
    for (profile::Experiment& experiment : *made.mutable_experiment()) {
      profile::Validity* validity = experiment.mutable_validity();
      validity->set_cpus(2);
      validity->set_live_threads(threads);
      validity->set_runnable_threads_average(3);
      validity->set_busy_cpu_ns(4 * experiment.elapsed_ns());
      validity->set_idle_cpu_ns(experiment.elapsed_ns() / 10);
    }
  };
  live_threads(1);
  EXPECT_THAT(ReportOf(made), AllOf(HasSubstr("note: other programs used"),
                                    Not(HasSubstr("more threads of the program"))));
  live_threads(3);
  EXPECT_THAT(ReportOf(made), AllOf(HasSubstr("note: other programs used"),
                                    HasSubstr("more threads of the program")));
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_runnable_threads_average(2);
    experiment.mutable_validity()->set_threads_beside_average(7.5);
  }
  EXPECT_THAT(ReportOf(made), AllOf(HasSubstr("note: other programs used"),
                                    Not(HasSubstr("more threads of the program"))));
}

TEST(ReportTest, WarmUpIsSaidAndItsExperimentsAreNotCountedAsPoor) {
  SyntheticProfile made({}, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  made.AddRandomExperiments(120);
  made.End();
  profile::Profile profile = made.profile();
  for (int i = 0; i < 3; ++i) {
    profile::Experiment& experiment = *profile.mutable_experiment(i);
    experiment.set_virtual_speedup(0);
    profile::PointCounts& counts = *experiment.mutable_point(0);
    counts.set_visits(5 * counts.visits());
  }
  const std::string report = ReportOf(profile);
  EXPECT_THAT(
      report,
      AllOf(HasSubstr("the first 1.5 s are not used for requests, which came 5.1 times as often "
                      "then as later"),
            Not(HasSubstr("fewer than 5 visits"))));
}

TEST(ReportTest, WindDownIsSaid) {
  SyntheticProfile made({}, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  made.AddRandomExperiments(120);
  made.End();
  profile::Profile profile = made.profile();
  profile::PointCounts& counts = *profile.mutable_experiment(119)->mutable_point(0);
  counts.set_visits(counts.visits() / 8);
  EXPECT_THAT(ReportOf(profile), HasSubstr("s of a run are not used for requests, which came 0."));
  profile.mutable_session_end(0)->set_reason(profile::END_REASON_DURATION_REACHED);
  EXPECT_THAT(ReportOf(profile), Not(HasSubstr("s of a run are not used")));
}

TEST(ReportTest, TimeThatAQuotaTookIsNoWait) {
  report_testing::SyntheticOptions options;
  options.running_threads = 0.5;
  SyntheticProfile made(options, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  made.AddRandomExperiments(60);
  made.End();
  profile::Profile profile = made.profile();
  EXPECT_THAT(ReportOf(profile), HasSubstr("no thread of the program ran"));
  for (profile::Experiment& experiment : *profile.mutable_experiment()) {
    experiment.mutable_validity()->set_quota_throttled_ns(experiment.elapsed_ns() / 2);
    experiment.mutable_validity()->add_taint()->set_reason(profile::Taint::CPU_QUOTA);
  }
  EXPECT_THAT(ReportOf(profile),
              AllOf(Not(HasSubstr("no thread of the program ran")), HasSubstr("note: a CPU quota"),
                    HasSubstr("60 experiments not used: 60 stopped by a CPU quota")));
}

TEST(ReportTest, SaysThatThreadsFoundNoPlace) {
  profile::Profile made = FourLines();
  made.mutable_session_end(0)->set_threads_without_slot(2);
  EXPECT_THAT(ReportOf(made), HasSubstr("note: a thread found all places for threads taken"));
}

TEST(ReportTest, SaysThatDelayWasStillOwed) {
  profile::Profile made = FourLines();
  const auto owe = [&made](double share) {
    for (profile::Experiment& experiment : *made.mutable_experiment()) {
      const double owed_ns = share * static_cast<double>(experiment.elapsed_ns());
      experiment.mutable_validity()->set_owed_ns(static_cast<uint64_t>(owed_ns));
    }
  };
  owe(0.04);
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("still owed")));
  owe(0.2);
  EXPECT_THAT(ReportOf(made), HasSubstr("still owed pauses at the end, 20 % of the experiment"));
}

TEST(ReportTest, SaysThatThreadsSpin) {
  profile::Profile made = FourLines();
  const auto spin = [&made](double share, double share_at_speedups) {
    for (profile::Experiment& experiment : *made.mutable_experiment()) {
      const double of = experiment.virtual_speedup() == 0 ? share : share_at_speedups;
      experiment.mutable_validity()->set_spinning_samples(
          static_cast<uint64_t>(of * static_cast<double>(experiment.total_samples())));
    }
  };
  spin(0.04, 0.4);
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("wait for something on their CPU")));
  spin(0.2, 0.4);
  EXPECT_THAT(
      ReportOf(made),
      HasSubstr("20 % of the samples fell into loops that wait for something on their CPU"));
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("such loops hold CPUs")));
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_runnable_threads_average(50);
  }
  EXPECT_THAT(ReportOf(made), HasSubstr("may bring some 20 %, whatever"));
}

TEST(ReportTest, SaysWhereThreadsSpin) {
  profile::Profile made = FourLines();
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_spinning_samples(experiment.total_samples() / 5);
  }
  profile::SampleCounts* counts = made.add_sample_counts();
  counts->set_session(made.session(0).id());
  for (const auto& [unit, samples] : {std::pair(0, 10), std::pair(1, 300), std::pair(2, 50)}) {
    counts->add_spinning_unit_id(made.unit(unit).id());
    counts->add_spinning_unit_samples(static_cast<uint64_t>(samples));
  }
  EXPECT_THAT(ReportOf(made),
              HasSubstr("such loops are above all at src/größe.cc:7 (Grow()), lib/lock.cc:103 "
                        "(app::Lock<std::mutex>::Acquire(int, long))\n"));
}

TEST(ReportTest, SaysThatTheProgramWaitedForSomethingOutside) {
  const auto made_with = [](double running_threads) {
    report_testing::SyntheticOptions options;
    options.running_threads = running_threads;
    SyntheticProfile made(options, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
    made.AddRandomExperiments(40);
    return made.profile();
  };
  EXPECT_THAT(ReportOf(made_with(0.6)),
              HasSubstr("no thread of the program ran for at least 40 % of the time"));
  EXPECT_THAT(ReportOf(made_with(1.0)), Not(HasSubstr("no thread of the program ran")));
  // Time in the kernel that is not sampled is no idleness.
  profile::Profile kernel = made_with(0.6);
  for (profile::Experiment& experiment : *kernel.mutable_experiment()) {
    experiment.mutable_validity()->set_lost_periods(experiment.total_samples());
  }
  EXPECT_THAT(ReportOf(kernel), Not(HasSubstr("no thread of the program ran")));
  profile::Profile waits = made_with(0.6);
  waits.mutable_session(0)->mutable_options()->set_unit_kind(profile::UNIT_KIND_WAIT);
  EXPECT_THAT(ReportOf(waits), Not(HasSubstr("no thread of the program ran")))
      << "these waits are the units";
}

TEST(ReportTest, SaysHowMuchOfTheirTimeThreadsWaitedForEachOther) {
  SyntheticProfile made({}, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  made.AddRandomExperiments(40);
  made.End();
  profile::Profile profile = made.profile();
  const uint64_t outside_ns =
      BuildExperimentTable(profile).samples * profile.session(0).sampling_period_ns();
  profile::Thread* thread = profile.add_thread();
  thread->set_session(profile.session(0).id());
  thread->set_threads(1);
  thread->set_end_ns(2 * outside_ns);
  thread->set_cpu_ns(outside_ns / 5);
  EXPECT_THAT(ReportOf(profile), Not(HasSubstr("threads spent"))) << "samples are of CPU time";
  profile.mutable_session(0)->mutable_options()->set_unit_kind(profile::UNIT_KIND_WAIT);
  EXPECT_THAT(ReportOf(profile),
              HasSubstr("threads spent 10 % of their time on CPUs, 50 % in waits for the outside, "
                        "which are the units, and 40 % in waits for each other"));
}

// Shares are of the time of all threads; what has less than half a percent is left out.
TEST(ReportTest, SaysWhereTheLongestWaitsAreThatAreNoUnits) {
  SyntheticProfile made({}, {{"/src/app/a.cc", 5, "A()", 0.5, 0.5, {}}});
  made.AddRandomExperiments(40);
  made.End();
  profile::Profile profile = made.profile();
  profile.mutable_session(0)->mutable_options()->set_unit_kind(profile::UNIT_KIND_WAIT);
  for (uint64_t line = 1; line <= 6; ++line) {
    profile::OwnWait* wait = profile.mutable_session_end(0)->add_own_wait();
    wait->set_file("/src/app/lock.cc");
    wait->set_line(static_cast<uint32_t>(line));
    wait->set_function("Lock()");
    wait->set_waited_ns(line * 1'000'000'000);
  }
  EXPECT_THAT(ReportOf(profile),
              HasSubstr("of waits that are no units, the longest are at lock.cc:6 (Lock()) 6 s, "
                        "lock.cc:5 (Lock()) 5 s, lock.cc:4 (Lock()) 4 s, lock.cc:3 (Lock()) 3 s, "
                        "lock.cc:2 (Lock()) 2 s in all threads"));
  profile::Thread* thread = profile.add_thread();
  thread->set_session(profile.session(0).id());
  thread->set_threads(1);
  thread->set_end_ns(1'001'000'000'000);
  profile.mutable_session_end(0)->mutable_own_wait(5)->set_file("");
  EXPECT_THAT(ReportOf(profile), HasSubstr("the longest are at Lock() 1 % of the threads' time"));
}

TEST(ReportTest, SaysWhatShortThreadsHide) {
  profile::Profile made = FourLines();
  for (profile::Experiment& experiment : *made.mutable_experiment()) {
    experiment.mutable_validity()->set_unsampled_ns(experiment.total_samples() * 1'000'000);
  }
  EXPECT_THAT(ReportOf(made), HasSubstr("50 % of the CPU time was used by threads that ended"));
}

TEST(ReportTest, SaysThatSamplingSlowsSwitches) {
  profile::Profile made = FourLines();
  ASSERT_GT(made.session_end_size(), 0);
  profile::SessionEnd* end = made.mutable_session_end(0);
  end->set_run_time_ns(10'000'000'000);
  end->set_thread_switches(400'000);
  end->set_switch_cost_ns(1000);
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("threads were switched")));
  end->set_switch_cost_ns(20'000);
  EXPECT_THAT(ReportOf(made), HasSubstr("threads were switched 40000 times a second, and with a "
                                        "sampling timer of its own each switch may take 20 us more "
                                        "(80 % of a CPU in all)"));
}

TEST(ReportTest, SaysThatAnotherSourceTookOverAndWhy) {
  profile::Profile made = FourLines();
  profile::SourceChange* change = made.add_source_change();
  change->set_session(made.session(0).id());
  change->set_at_ns(600'000'000);
  change->set_sampling_source(profile::SAMPLING_SOURCE_CPU_TIMER);
  change->set_switches_per_second(25'000);
  change->set_cpu_ns_per_second(1.9e9);
  change->set_switch_cost_ns(40'000);
  EXPECT_THAT(ReportOf(made),
              AllOf(HasSubstr("from 0.6 s on samples come from CPU timers"),
                    HasSubstr("25000 switches a second that take 40 us more each are 100 % of a "
                              "CPU, of 190 % that the program used"),
                    HasSubstr("effects may look smaller than they are")));
}

TEST(ReportTest, DoesNotBlameTheSourceThatAnotherTookOverFrom) {
  profile::Profile made = FourLines();
  made.mutable_session(0)->set_fallback_reason("time in the kernel is not sampled");
  EXPECT_THAT(ReportOf(made),
              AllOf(HasSubstr("time in the kernel is not sampled"), Not(HasSubstr("on by"))));
  profile::SourceChange* change = made.add_source_change();
  change->set_session(made.session(0).id());
  change->set_sampling_source(profile::SAMPLING_SOURCE_CPU_TIMER);
  EXPECT_THAT(ReportOf(made), AllOf(Not(HasSubstr("time in the kernel is not sampled")),
                                    HasSubstr("; from 0.0 s on by cpu timer")));
}

TEST(ReportTest, SaysThatTheKernelHeldSamplesBack) {
  profile::Profile made = FourLines();
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("held back")));
  const auto throttle = [&made](uint64_t one_in) {
    for (profile::Experiment& experiment : *made.mutable_experiment()) {
      experiment.mutable_validity()->set_throttled(experiment.total_samples() / one_in);
    }
  };
  throttle(1000);
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("held back")));
  throttle(4);
  EXPECT_THAT(ReportOf(made), HasSubstr("may have held back up to 25 % of the samples"));
  EXPECT_THAT(ReportOf(made),
              HasSubstr("run: sudo sysctl kernel.perf_event_max_sample_rate=100000"));
  made.mutable_session(0)->set_sampling_period_ns(5000);
  EXPECT_THAT(ReportOf(made), HasSubstr("kernel.perf_event_max_sample_rate=200000"));
}

TEST(ReportTest, SaysThatSpeedupsWereMissed) {
  report_testing::SyntheticOptions options;
  options.achieved_share = 0.7;
  SyntheticProfile made(options, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  made.AddRandomExperiments(40);
  EXPECT_THAT(ReportOf(made.profile()), HasSubstr("pauses made 70 % of the virtual speedups"));
  EXPECT_THAT(ReportOf(FourLines()), Not(HasSubstr("pauses made")));
}

TEST(ReportTest, AnonymousNamespacesAreLeftOutOfNames) {
  profile::Profile made = FourLines();
  for (profile::Unit& unit : *made.mutable_unit()) {
    unit.set_function("(anonymous namespace)::Work");
  }
  const std::string text = ReportOf(made);
  EXPECT_THAT(text, HasSubstr(" Work "));
  EXPECT_THAT(text, Not(HasSubstr("anonymous")));
}

TEST(ReportTest, ControlCharactersInNamesDoNotReachTheTerminal) {
  profile::Profile made = FourLines();
  for (profile::Unit& unit : *made.mutable_unit()) unit.set_function("\x1b[31mred");
  made.mutable_session(0)->set_command(0, "\x1b]0;title\x07");
  EXPECT_THAT(ReportOf(made), Not(HasSubstr("\x1b")));
}

TEST(ReportTest, ProfileMergedWithItselfCountsOnce) {
  profile::Profile twice = FourLines();
  twice.MergeFrom(FourLines());
  const std::string text = ReportOf(twice);
  EXPECT_THAT(text, HasSubstr("120 experiments found twice and used once"));
  EXPECT_THAT(text, HasSubstr("120 experiments (23 at 0 %)"));
}

TEST(ReportTest, DamagedProfilesNeverCrash) {
  SyntheticProfile made(
      {}, {{"/src/a.cc", 5, "A<int>()", 0.5, 0.5, {}}, {"/src/b.cc", 6, "B()", 0.3, 0, {}}});
  made.AddRandomExperiments(40);
  made.End();
  const std::string bytes = made.profile().SerializeAsString();
  const std::string path = ::testing::TempDir() + "/damaged.pb";
  std::mt19937_64 random(3);
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = bytes;
    for (int flips = 0; flips <= round % 20; ++flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    std::ofstream(path, std::ios::binary) << damaged;
    ReportOptions report;
    report.path = path;
    std::ostringstream out;
    const absl::Status status = RunReport(report, out);
    EXPECT_EQ(status.ok(), !out.str().empty());
  }
}

TEST(ReportTest, ImpossibleFiguresAreLeftOut) {
  profile::Profile made = FourLines();
  made.mutable_experiment(0)->set_virtual_speedup(std::nan(""));
  made.mutable_experiment(1)->set_virtual_speedup(-3);
  made.mutable_experiment(2)->set_unit_samples(0, uint64_t{1} << 32);
  EXPECT_THAT(ReportOf(made), HasSubstr("3 experiments not used: impossible figures"));
}

TEST(ReportTest, BadInputIsAStatus) {
  ReportOptions options;
  options.path = ::testing::TempDir() + "/missing.pb";
  std::ostringstream out;
  EXPECT_EQ(RunReport(options, out).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(out.str(), "");
}

TEST(ReportTest, UnwritableOutputIsAStatus) {
  ReportOptions options;
  options.path = Save(FourLines());
  std::ofstream full("/dev/full");
  EXPECT_EQ(RunReport(options, full).code(), absl::StatusCode::kUnavailable);
}

TEST(ReportTest, SaysWhatSamplingTakesWhereItIsMuch) {
  for (const double share : {0.3, 0.09, 0.01}) {
    SyntheticOptions options;
    options.noise = 0.002;
    options.bare_share = share;
    SyntheticProfile made(options, {{"/src/a.cc", 1, "Work()", 0.5, 0.5, {}}});
    for (int i = 0; i < 20; ++i) {
      made.AddRandomExperiments(8);
      made.AddBareInterval();
    }
    const std::string report = ReportOf(made.profile());
    const bool says = report.find("being sampled takes ") != std::string::npos;
    EXPECT_EQ(says, share > 0.02) << report;
    const bool says_nine = report.find("being sampled takes 9 % (") != std::string::npos;
    EXPECT_EQ(says_nine, share == 0.09) << report;
    const bool advises = report.find("--sampler=cpu-timer` may take less") != std::string::npos;
    EXPECT_EQ(advises, share > 0.1) << report;
  }
}

TEST(ReportTest, SaysThatExperimentsWereSpoiltFromOutside) {
  SyntheticOptions options;
  options.noise = 0.005;
  SyntheticProfile made(options, {{"/src/a.cc", 1, "Work()", 0.5, 0.5, {}}});
  for (int i = 0; i < 16; ++i) made.AddExperiment(0, 0);
  for (int i = 1; i <= 10; ++i) made.AddExperiment(0, 0.1 * i);
  EXPECT_THAT(ReportOf(made.profile()), Not(HasSubstr("took far longer")));
  profile::PointCounts* counts = made.profile().mutable_experiment(3)->mutable_point(0);
  counts->set_visits(counts->visits() / 2);
  EXPECT_THAT(ReportOf(made.profile(), 300),
              HasSubstr("up to 1 experiment of a line took far longer or shorter"));
}

std::string MarkdownOf(const profile::Profile& profile, int max_lines = 20) {
  ReportOptions options;
  options.path = Save(profile);
  options.format = ReportFormat::kMarkdown;
  options.text.max_lines = max_lines;
  std::ostringstream out;
  EXPECT_TRUE(RunReport(options, out).ok());
  return out.str();
}

TEST(ReportMarkdownTest, TheVerdictIsSaidOnce) {
  SyntheticOptions noisy;
  noisy.noise = 0.3;
  SyntheticProfile made(noisy, {{"/src/a.cc", 5, "A()", 0.5, 0.2, {}}});
  for (int i = 0; i < 12; ++i) made.AddExperiment(0, i % 4 * 0.3);
  const std::string text = MarkdownOf(made.profile());
  EXPECT_THAT(text, HasSubstr(" | not yet known | "));
  EXPECT_THAT(text, Not(HasSubstr(" | not yet known | not yet known")));
}

TEST(ReportTest, APairOfWhichOnlyTheEndIsPassedIsAMismatch) {
  profile::Profile profile = FourLines();
  profile::ProgressPoint* pair = profile.add_progress_point();
  pair->set_session(profile.session(0).id());
  pair->set_id(77);
  pair->set_name("order");
  pair->set_kind(profile::PROGRESS_POINT_KIND_LATENCY);
  for (profile::Experiment& experiment : *profile.mutable_experiment()) {
    profile::PointCounts* counts = experiment.add_point();
    counts->set_point(77);
    counts->set_departures(50);
  }
  const std::string text = ReportOf(profile);
  EXPECT_THAT(text,
              ContainsRegex("Progress point order \\(latency\\): begin and end do not match:"));
  EXPECT_THAT(text, HasSubstr("though only 0 began"));
  EXPECT_THAT(text, Not(HasSubstr("order was never visited")));
}

TEST(ReportMarkdownTest, LatenciesSayThatTheyAreTimes) {
  SyntheticOptions options;
  options.kind = profile::PROGRESS_POINT_KIND_LATENCY;
  options.latency_ns = 2e6;
  options.noise = 0;
  SyntheticProfile made(options, {{"/src/a.cc", 5, "A()", 0.5, 0.2, {}}});
  made.AddRandomExperiments(60);
  const std::string text = MarkdownOf(made.profile());
  EXPECT_THAT(text,
              ContainsRegex("\\*\\*requests\\*\\* \\(latency\\): [0-9]+ visits, 2 ms on average; "
                            "\\+10 % is a time that is 10 % shorter\n"));
}

TEST(ReportMarkdownTest, LinesThatWereNotTriedAreNamed) {
  const std::string text = MarkdownOf(HardlyTried());
  EXPECT_THAT(text, ContainsRegex("\nSet aside, with too little data for a figure: 2 lines: "
                                  "`inl.h:3` .[34].\\.. %., `a.cc:5` .[12].\\.. %.\n"));
  EXPECT_THAT(text, HasSubstr("\nNot tried yet: 400 lines, each with less than 0.5 % "));
}

TEST(ReportMarkdownTest, EachLineIsARowOfATable) {
  const std::string text = MarkdownOf(FourLines());
  EXPECT_THAT(text, HasSubstr("**requests** (throughput): "));
  EXPECT_THAT(text, HasSubstr("\n| line | | gain at 30 % | samples | verdict | |\n|---|---|"));
  EXPECT_THAT(text, HasSubstr("| `src/parse.cc:41` | `app::Parser::Next(std::string_view)` | "));
  EXPECT_THAT(text, HasSubstr(" | worth it | making this 30 % faster speeds `requests` up by "));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, "| ")) continue;
    EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 7) << line;
  }
  EXPECT_THAT(MarkdownOf(FourLines(), 1), HasSubstr("\nand "));
}

TEST(ReportMarkdownTest, NamesDoNotBecomeMarkup) {
  SyntheticLine line;
  line.share = 0.5;
  line.slope = 0.4;
  line.function = "a|b`c`<img>";
  SyntheticOptions options;
  options.point = "*<b>|";
  SyntheticProfile made(options, {line});
  made.AddRandomExperiments(100);
  made.End();
  const std::string text = MarkdownOf(made.profile());
  EXPECT_THAT(text, HasSubstr("`a\\|b'c'<img>`")) << text;
  EXPECT_THAT(text, HasSubstr("**\\*&lt;b>\\|**"));
}

TEST(ReportMarkdownTest, WithoutFiguresItSaysWhatToDo) {
  profile::Profile bare = FourLines();
  bare.clear_experiment();
  bare.clear_progress_point();
  EXPECT_THAT(MarkdownOf(bare), HasSubstr("Nothing was measured: "));
}

}  // namespace
}  // namespace coz::report
