#include "coz/supervisor/doctor/program_findings.h"

#include <string>
#include <vector>

#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using report::Finding;
using report::Grade;
using ::testing::HasSubstr;
using ::testing::Not;

ProgramFacts GoodProgram() {
  ProgramFacts facts;
  facts.word = "./server";
  facts.info.path = "/srv/server";
  facts.info.kind = sourcemap::BinaryInfo::Kind::kElf;
  facts.info.description = "a position-independent executable";
  facts.info.has_symbols = true;
  facts.info.debug_path = "/srv/server";
  facts.debug.path = "/srv/server";
  facts.debug.units_by_version = {{4, 3}, {5, 10}};
  facts.debug.units_optimized = 13;
  facts.debug.code_bytes = 1000;
  facts.debug.covered_bytes = 900;
  facts.lines_in_scope = 120;
  facts.bytes_in_scope = 600;
  facts.marks.marks = {{"requests", points::MarkKind::kThroughput}};
  return facts;
}

Finding Of(const ProgramFacts& facts, const std::string& subject) {
  for (Finding& finding : FindingsOfProgram(facts)) {
    if (finding.subject == subject) return finding;
  }
  return {};
}

TEST(ProgramFindingsTest, GoodProgramHasNothingToMend) {
  for (const Finding& finding : FindingsOfProgram(GoodProgram())) {
    EXPECT_EQ(finding.grade, Grade::kGood) << finding.subject << ": " << finding.what;
    EXPECT_EQ(finding.remedy, "") << finding.subject;
  }
  EXPECT_EQ(Of(GoodProgram(), "debug info").what,
            "in the program, DWARF 4 and 5, covers 90 % of the code");
  EXPECT_EQ(Of(GoodProgram(), "scope").what, "120 lines of your own sources have 60 % of the code");
  EXPECT_EQ(Of(GoodProgram(), "points").what, "1: requests");
}

TEST(ProgramFindingsTest, WithoutDebugInformationFunctionsCanBeMeasured) {
  ProgramFacts facts = GoodProgram();
  facts.info.debug_path.clear();
  EXPECT_EQ(Of(facts, "debug info").grade, Grade::kProblem);
  EXPECT_EQ(Of(facts, "debug info").remedy,
            "build with -g; or measure functions: coz run --unit=function --- ./server …");
  EXPECT_EQ(Of(facts, "scope").subject, "") << "there is nothing to say of it";
  facts.info.has_symbols = false;
  EXPECT_EQ(Of(facts, "debug info").remedy, "build with -g");
  EXPECT_EQ(Of(facts, "symbols").grade, Grade::kWarning);
  facts.info.exported_functions = 500;
  EXPECT_THAT(Of(facts, "debug info").remedy, HasSubstr("--unit=function"));
  EXPECT_EQ(Of(facts, "symbols").what,
            "stripped; of its functions the 500 that it exports have names");
}

TEST(ProgramFindingsTest, MissingSplitFilesAreAWarning) {
  ProgramFacts facts = GoodProgram();
  facts.debug.splits_missing = 2;
  facts.debug.split_missing = "pc.dwo";
  EXPECT_EQ(Of(facts, "debug info").grade, Grade::kWarning);
  EXPECT_THAT(Of(facts, "debug info").what, HasSubstr("2 .dwo files are missing (first: pc.dwo)"));
  EXPECT_THAT(Of(facts, "debug info").remedy, HasSubstr("build it again and keep"));
  facts.debug.split_package = "/srv/server.dwp";
  EXPECT_THAT(Of(facts, "debug info").remedy, HasSubstr("the package /srv/server.dwp is not read"));
}

TEST(ProgramFindingsTest, ADebugFileOfAnotherBuildIsNamed) {
  ProgramFacts facts = GoodProgram();
  facts.info.debug_path.clear();
  facts.info.unfit_debug_path = "/srv/server.debug";
  EXPECT_EQ(Of(facts, "debug info").grade, Grade::kProblem);
  EXPECT_THAT(Of(facts, "debug info").what, HasSubstr("/srv/server.debug is of another build"));
}

TEST(ProgramFindingsTest, LittleCoverageIsAWarning) {
  ProgramFacts facts = GoodProgram();
  facts.debug.covered_bytes = 100;
  EXPECT_EQ(Of(facts, "debug info").grade, Grade::kWarning);
  EXPECT_THAT(Of(facts, "debug info").what, HasSubstr("10 %"));
}

TEST(ProgramFindingsTest, SourcesOfTheSystemAloneAreAProblem) {
  ProgramFacts facts = GoodProgram();
  facts.lines_in_scope = 0;
  EXPECT_EQ(Of(facts, "scope").grade, Grade::kProblem);
  EXPECT_THAT(Of(facts, "scope").remedy, HasSubstr("coz run -s % --- ./server"));
}

TEST(ProgramFindingsTest, StaticProgramsAndScriptsAreProblems) {
  ProgramFacts facts = GoodProgram();
  facts.info.is_static = true;
  EXPECT_EQ(Of(facts, "file").grade, Grade::kProblem);
  facts = GoodProgram();
  facts.info.kind = sourcemap::BinaryInfo::Kind::kScript;
  facts.info.description = "a script";
  const std::vector<Finding> findings = FindingsOfProgram(facts);
  ASSERT_EQ(findings.size(), 1u) << "of a script there is no more to say";
  EXPECT_THAT(findings.front().remedy, HasSubstr("--follow=all"));
}

TEST(ProgramFindingsTest, GoIsToldHowItIsBuiltWithLibc) {
  ProgramFacts facts = GoodProgram();
  EXPECT_EQ(Of(facts, "Go").subject, "");
  facts.info.is_go = true;
  EXPECT_EQ(Of(facts, "Go").grade, Grade::kNote);
  EXPECT_THAT(Of(facts, "Go").what, HasSubstr("are seen"));
  facts.why_no_goroutines = "it has no symbols";
  EXPECT_THAT(Of(facts, "Go").what, HasSubstr("it has no symbols"));
  EXPECT_THAT(Of(facts, "Go").what, Not(HasSubstr("are seen")));
  facts.debug.units_unoptimized = 20;
  EXPECT_EQ(Of(facts, "optimization").subject, "") << "it does not say how it is compiled";
  facts.info.needs_no_library = true;
  EXPECT_EQ(Of(facts, "file").grade, Grade::kProblem);
  EXPECT_THAT(Of(facts, "file").remedy, HasSubstr("runtime/cgo"));
  EXPECT_EQ(Of(facts, "Go").subject, "") << "first things first";
  facts.info.needs_no_library = false;
  facts.info.is_static = true;
  EXPECT_THAT(Of(facts, "file").remedy, HasSubstr("runtime/cgo"));
}

TEST(ProgramFindingsTest, SignalsWithoutLibcAreAProblem) {
  ProgramFacts facts = GoodProgram();
  facts.takes_signals_itself = true;
  facts.waits.own_system_calls = {"futex"};
  facts.info.is_static = true;
  EXPECT_EQ(Of(facts, "signals").subject, "") << "libc's code is in the program";
  EXPECT_EQ(Of(facts, "waits").subject, "");
  facts.info.is_static = false;
  EXPECT_EQ(Of(facts, "waits").grade, Grade::kNote);
  EXPECT_EQ(Of(facts, "signals").grade, Grade::kProblem);
}

TEST(ProgramFindingsTest, ProgramThatGainsRightsIsAProblem) {
  ProgramFacts facts = GoodProgram();
  facts.gains_rights = true;
  EXPECT_EQ(Of(facts, "rights").grade, Grade::kProblem);
}

TEST(ProgramFindingsTest, UnoptimizedBuildIsAWarning) {
  ProgramFacts facts = GoodProgram();
  facts.debug.units_unoptimized = 20;
  EXPECT_THAT(Of(facts, "optimization").what, HasSubstr("20 of 33 sources"));
  facts.debug.units_unoptimized = 2;
  EXPECT_EQ(Of(facts, "optimization").subject, "") << "a few that are not hot";
}

TEST(ProgramFindingsTest, WithoutMarksThreeWaysAreNamed) {
  ProgramFacts facts = GoodProgram();
  facts.marks.marks.clear();
  const Finding points = Of(facts, "points");
  EXPECT_EQ(points.grade, Grade::kWarning);
  for (const char* way : {"COZ_PROGRESS", "coz points --- ./server", "--end-to-end"}) {
    EXPECT_THAT(points.remedy, HasSubstr(way));
  }
  facts.marks.has_marks_of_original = true;
  EXPECT_EQ(Of(facts, "points").grade, Grade::kGood);
}

TEST(ProgramFindingsTest, HalfAPairIsAWarning) {
  ProgramFacts facts = GoodProgram();
  facts.marks.marks.push_back({"order", points::MarkKind::kBegin});
  EXPECT_THAT(Of(facts, "points").what, HasSubstr("of order there is only COZ_BEGIN"));
  facts.marks.marks.push_back({"order", points::MarkKind::kEnd});
  EXPECT_EQ(Of(facts, "points").what, "2: order, requests");
}

TEST(ProgramFindingsTest, UnseenWaitsAreNoted) {
  ProgramFacts facts = GoodProgram();
  facts.waits.calls = {"flockfile"};
  facts.waits.own_system_calls = {"futex"};
  EXPECT_THAT(Of(facts, "waits").what,
              HasSubstr("flockfile(), the system call futex without libc"));
}

TEST(ProgramFactsTest, ProgramsAreLookedAt) {
  const auto program = LookAtProgram(testing::RunfilePath("coz/testing/puppets/busy"));
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_FALSE(program->gains_rights);
  EXPECT_GT(program->lines_in_scope, 5u);
  EXPECT_GT(program->debug.covered_bytes, program->bytes_in_scope / 2);
  EXPECT_FALSE(program->marks.marks.empty());
  EXPECT_EQ(Of(*program, "file").grade, Grade::kGood);

  const auto without = LookAtProgram(testing::RunfilePath("coz/testing/puppets/busy_static"));
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(Of(*without, "file").grade, Grade::kProblem);
  EXPECT_FALSE(LookAtProgram("no-such-program-anywhere").ok());
}

}  // namespace
}  // namespace coz::supervisor
