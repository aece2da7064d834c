#include "coz/report/wording/unit_names.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

UnitRow Unit(profile::UnitKind kind, const std::string& file, uint32_t line,
             const std::string& function, const std::string& group = "") {
  UnitRow unit;
  unit.kind = kind;
  unit.file = file;
  unit.line = line;
  unit.function = function;
  unit.thread_group = group;
  return unit;
}

// Each unit has an experiment.
ExperimentTable Table(std::vector<UnitRow> units) {
  ExperimentTable table;
  table.units = std::move(units);
  for (size_t unit = 0; unit < table.units.size(); ++unit) {
    table.experiments.emplace_back();
    table.experiments.back().unit = unit;
  }
  return table;
}

TEST(UnitNamesTest, LinesAreWithoutTheCommonFolder) {
  const ExperimentTable table =
      Table({Unit(profile::UNIT_KIND_LINE, "/src/app/io/read.cc", 5, "Read()"),
             Unit(profile::UNIT_KIND_LINE, "/src/app/main.cc", 7, "(anonymous namespace)::Go()")});
  const UnitNames names(table);
  EXPECT_EQ(names.folder(), "/src/app/");
  EXPECT_EQ(names.Place(0), "io/read.cc:5");
  EXPECT_EQ(names.Detail(0), "Read()");
  EXPECT_EQ(names.Place(1), "main.cc:7");
  EXPECT_EQ(names.Detail(1), "Go()");
  EXPECT_EQ(names.Count(2), "2 lines");
  EXPECT_TRUE(names.IsLine(0));
}

// Go before 1.20 records no line of a function.
TEST(UnitNamesTest, FunctionsAreNamedAndTheirPlaceIsAsFarAsItIsKnown) {
  const ExperimentTable table =
      Table({Unit(profile::UNIT_KIND_FUNCTION, "/src/a/a.go", 5, "main.A"),
             Unit(profile::UNIT_KIND_FUNCTION, "/src/b/b.go", 0, "main.B", "io"),
             Unit(profile::UNIT_KIND_FUNCTION, "", 0, "C")});
  const UnitNames names(table);
  EXPECT_EQ(names.Place(0), "main.A");
  EXPECT_EQ(names.Detail(0), "a/a.go:5");
  EXPECT_EQ(names.Place(1), "main.B@io");
  EXPECT_EQ(names.Detail(1), "b/b.go");
  EXPECT_EQ(names.Detail(2), "");
  EXPECT_EQ(names.Plural(), "functions");
}

TEST(UnitNamesTest, InstancesOfATemplateStayDifferentInFewColumns) {
  const ExperimentTable table = Table({Unit(profile::UNIT_KIND_FUNCTION, "/src/game.cc", 36,
                                            "Rounds<Animate(unsigned int)::<lambda(int)> >"),
                                       Unit(profile::UNIT_KIND_FUNCTION, "/src/game.cc", 36,
                                            "Rounds<Render(unsigned int)::<lambda(int)> >")});
  const UnitNames names(table);
  EXPECT_EQ(names.ShortPlace(0, 20), "Rounds<Animate…>");
  EXPECT_EQ(names.ShortPlace(1, 20), "Rounds<Render…>");
  EXPECT_EQ(names.SourceWidth(0), 10);
}

TEST(UnitNamesTest, FunctionsAndCallPathsAreDeclaredSomewhere) {
  EXPECT_EQ(DetailHead("function"), "declared at");
  EXPECT_EQ(DetailHead("call path"), "declared at");
  EXPECT_EQ(DetailHead("line"), "function");
}

TEST(UnitNamesTest, MixedKindsAreUnits) {
  const ExperimentTable table = Table({Unit(profile::UNIT_KIND_LIBRARY, "/lib/libz.so", 0, ""),
                                       Unit(profile::UNIT_KIND_GROUP, "", 0, "parse")});
  EXPECT_EQ(UnitNames(table).Count(1), "1 unit");
}

}  // namespace
}  // namespace coz::report
