#include "coz/report/report.h"

#include <cstdint>
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
#include "absl/strings/string_view.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/reports.h"
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

using report_testing::FourLines;
using report_testing::HardlyTried;
using report_testing::ReportOf;
using report_testing::Save;
using report_testing::SyntheticLine;
using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

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

TEST(ReportTest, OneCpuIsNotSeveral) {
  profile::Profile profile = FourLines();
  profile.mutable_session(0)->mutable_machine()->set_cpu_count(1);
  EXPECT_THAT(ReportOf(profile), HasSubstr(" with 1 CPU; sampled by "));
}

TEST(ReportTest, OrderOfConditionsChangesNothing) {
  const std::string holds = "slope(parse.cc:41) > 0.3";
  const std::string fits_nothing = "slope(nowhere.cc:*) > 0";
  ReportOptions options;
  options.path = Save(FourLines());
  for (const auto& texts : std::vector<std::vector<std::string>>{
           {holds, fits_nothing}, {fits_nothing, holds}, {holds, "gain(parse.cc:41) > 0"}}) {
    options.fail_if = texts;
    std::ostringstream out;
    const absl::Status status = RunReport(options, out);
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
    for (const std::string& text : texts) {
      EXPECT_THAT(std::string(status.message()), HasSubstr("--fail-if='" + text + "' "));
    }
  }
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

// Symbols name functions and no files.
TEST(ReportTest, LargerThanFunctionsWithoutFilesAreLibraries) {
  profile::Profile profile = HardlyTried();
  for (profile::Unit& unit : *profile.mutable_unit()) {
    unit.set_kind(profile::UNIT_KIND_FUNCTION);
    unit.set_function(absl::StrCat("function_", unit.id()));
    unit.clear_file();
    unit.clear_line();
  }
  EXPECT_THAT(ReportOf(profile), HasSubstr("look at larger parts with `coz run --unit=library"));
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

TEST(ReportTest, NoLineWithoutSamplesIsToBeLookedAtAlone) {
  SyntheticProfile made({}, {{"/src/a.cc", 5, "A()", 0, 0, {}}});
  for (double s : {0.0, 0.2}) made.AddExperiment(0, s);
  const std::string text = ReportOf(made.profile());
  EXPECT_THAT(text, HasSubstr("next: run longer"));
  EXPECT_THAT(text, Not(HasSubstr("look at one line")));
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
  EXPECT_THAT(ReportOf(profile),
              ContainsRegex("next: make more runs, with `coz run --append -o [^ ]*report.pb "
                            "--sampling-period=1 --end-to-end --repeat=40 --- ./app --threads=2`, "
                            "or look at one line "
                            "with `coz run --end-to-end --repeat=40 --fixed"));
}

TEST(ReportTest, ProgramsThatEndSoonAreToBeRunAgain) {
  SyntheticProfile made({}, {{"/src/a.cc", 5, "A()", 0.5, 0.5, {}}});
  for (double s : {0.0, 0.2}) made.AddExperiment(0, s);
  made.End();
  profile::Profile profile = made.profile();
  profile.mutable_session_end(0)->set_reason(profile::END_REASON_TARGET_EXITED);
  EXPECT_THAT(ReportOf(profile, 300),
              ContainsRegex("next: make more runs, with `coz run --append -o [^ ]*report.pb "
                            "--sampling-period=1 --repeat=20 --- ./app"));
  profile.mutable_session_end(0)->set_reason(profile::END_REASON_INTERRUPTED);
  EXPECT_THAT(ReportOf(profile, 300), HasSubstr("next: run longer, or"));
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

}  // namespace
}  // namespace coz::report
