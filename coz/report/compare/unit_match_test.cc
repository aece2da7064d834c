#include "coz/report/compare/unit_match.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

struct Unit {
  uint32_t line;
  uint64_t samples;
  std::string function = "f()";
  std::string file = "/src/a.cc";
  profile::UnitKind kind = profile::UNIT_KIND_LINE;
};

ExperimentTable Table(const std::vector<Unit>& units) {
  ExperimentTable table;
  for (const Unit& unit : units) {
    UnitRow row;
    row.kind = unit.kind;
    row.file = unit.file;
    row.line = unit.line;
    row.function = unit.function;
    row.samples = unit.samples;
    table.units.push_back(row);
  }
  return table;
}

// For each unit of the first table, the line of its counterpart; 0: it has none.
std::vector<uint32_t> Counterparts(const std::vector<Unit>& before,
                                   const std::vector<Unit>& after) {
  const UnitMatch match(Table(before), Table(after));
  std::vector<uint32_t> lines;
  for (size_t i = 0; i < before.size(); ++i) {
    const std::optional<size_t> other = match.AfterOf(i);
    if (other) {
      EXPECT_EQ(match.BeforeOf(*other), i);
    }
    lines.push_back(other ? after[*other].line : 0);
  }
  return lines;
}

using Lines = std::vector<uint32_t>;

TEST(UnitMatchTest, LinesStayWhereTheyAre) {
  EXPECT_EQ(Counterparts({{10, 60}, {20, 5}}, {{10, 5}, {20, 60}}), (Lines{10, 20}));
  EXPECT_EQ(Counterparts({{10, 600}, {20, 50}}, {{20, 500}}), (Lines{0, 20}));
  EXPECT_EQ(Counterparts({{20, 500}}, {{20, 500}, {30, 600}}), (Lines{20}));
}

TEST(UnitMatchTest, ALineOfAnUnknownFunctionIsTheOneOfItsNumber) {
  EXPECT_EQ(Counterparts({{10, 60, ""}, {20, 5, ""}}, {{10, 5}, {20, 60, "g()"}, {30, 9}}),
            (Lines{10, 20}));
  EXPECT_EQ(Counterparts({{10, 60}, {20, 5}}, {{10, 5, ""}}), (Lines{10, 0}));
  // Which of two is meant is not known.
  EXPECT_EQ(Counterparts({{10, 60, ""}}, {{10, 5, "T<int>()"}, {10, 60, "T<char>()"}}), (Lines{0}));
  EXPECT_EQ(Counterparts({{10, 60, "", "/src/b.cc"}}, {{10, 5}, {11, 5, "h()", "/src/b.cc"}}),
            (Lines{0}));
}

TEST(UnitMatchTest, ALineOfTheSameNumberInAnotherFunctionIsAnotherOne) {
  EXPECT_EQ(Counterparts({{22, 900, "decode()"}, {26, 300, "update()"}},
                         {{26, 500, "decode()"}, {30, 300, "update()"}}),
            (Lines{26, 30}));
}

TEST(UnitMatchTest, AFunctionMovesAsAWhole) {
  EXPECT_EQ(Counterparts({{22, 900}, {26, 300}}, {{26, 500}, {30, 300}}), (Lines{26, 30}));
  EXPECT_EQ(Counterparts({{10, 100}, {11, 90}, {12, 80}}, {{11, 100}, {12, 90}, {13, 80}}),
            (Lines{11, 12, 13}));
}

TEST(UnitMatchTest, LinesBehindAnInsertedOneMove) {
  EXPECT_EQ(Counterparts({{10, 100}, {20, 90}, {30, 80}, {40, 70}},
                         {{10, 100}, {20, 90}, {32, 80}, {42, 70}}),
            (Lines{10, 20, 32, 42}));
}

TEST(UnitMatchTest, LinesWithHardlyAnySamplesDoNotStandInTheWay) {
  EXPECT_EQ(Counterparts({{25, 8}, {26, 3262}}, {{29, 6}, {30, 3457}}), (Lines{29, 30}));
  EXPECT_EQ(Counterparts({{25, 3}, {26, 1372}}, {{30, 1623}}), (Lines{0, 30}));
  EXPECT_EQ(Counterparts({{26, 8}, {27, 3262}}, {{25, 8}, {26, 3262}}), (Lines{25, 26}));
}

TEST(UnitMatchTest, WhereTwoShiftsFitNothingIsGuessed) {
  EXPECT_EQ(Counterparts({{10, 500}}, {{20, 500}, {30, 500}}), (Lines{0}));
  EXPECT_EQ(Counterparts({{10, 500}, {20, 400}}, {{12, 500}, {35, 400}}), (Lines{0, 0}));
}

// Each pair of lines tells another shift.
TEST(UnitMatchTest, ManyLinesTakeNoTime) {
  std::vector<Unit> before;
  std::vector<Unit> after;
  for (uint32_t i = 1; i <= 20'000; ++i) {
    before.push_back({2 * i, 100});
    after.push_back({50'000 * i + 1, 100});
  }
  EXPECT_EQ(Counterparts(before, after), std::vector<uint32_t>(before.size(), 0));
}

TEST(UnitMatchTest, LinesWithoutAFunctionDoNotMove) {
  EXPECT_EQ(Counterparts({{10, 500, ""}, {20, 9, ""}}, {{12, 500, ""}, {20, 9, ""}}),
            (Lines{0, 20}));
}

TEST(UnitMatchTest, FilesInAnotherFolderAreTheSame) {
  EXPECT_EQ(Counterparts({{10, 500, "f()", "/one/a.cc"}}, {{12, 500, "f()", "/two/a.cc"}}),
            (Lines{12}));
}

TEST(UnitMatchTest, AFunctionMayMoveToAnotherFile) {
  const auto kind = profile::UNIT_KIND_FUNCTION;
  EXPECT_EQ(Counterparts({{10, 500, "f()", "/src/a.cc", kind}, {50, 5, "g()", "/src/a.cc", kind}},
                         {{70, 500, "f()", "/src/b.cc", kind}, {50, 5, "g()", "/src/a.cc", kind}}),
            (Lines{70, 50}));
}

TEST(UnitMatchTest, OfAMovedLineTheOtherNumberIsNamed) {
  EXPECT_EQ(NameWithOther("a.cc:26", "was", "src/a.cc:22"), "a.cc:26 (was 22)");
  EXPECT_EQ(NameWithOther("a.cc:26", "was", "src/a.cc:26"), "a.cc:26");
  EXPECT_EQ(NameWithOther("ns::f()", "was", "ns::f()"), "ns::f()");
}

}  // namespace
}  // namespace coz::report
