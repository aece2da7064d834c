#include "coz/report/text/path_tree.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/wording/text_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PathTreeTest : public ::testing::Test {
 protected:
  void Add(const std::string& path, uint64_t samples,
           profile::UnitKind kind = profile::UNIT_KIND_PATH) {
    UnitRow& unit = table_.units.emplace_back();
    unit.kind = kind;
    unit.function = path;
    unit.samples = samples;
    table_.samples += samples;
  }
  std::string Text(int width = 100) const { return PathTreeText(table_, figures_, width); }

  ExperimentTable table_;
  std::map<size_t, PathFigures> figures_;
};

TEST_F(PathTreeTest, CallersStandIndentedBelowWhatTheyCall) {
  Add("log < main", 100);
  Add("helper < log", 200);
  Add("helper < serve", 400);
  Add("helper", 300);
  figures_[1] = {"-1 % (-2 to 1)", "no gain"};
  figures_[2] = {"+12 % (10 to 14)", "worth it"};
  figures_[3] = {"+5 % (4 to 6)", "worth it"};
  EXPECT_EQ(Text(), R"(  By function and who calls it, with the samples of all its paths:
    helper                            90.0 %
      called by no function in scope  30.0 %  +5 % (4 to 6)     worth it
      < serve                         40.0 %  +12 % (10 to 14)  worth it
      < log                           20.0 %  -1 % (-2 to 1)    no gain
    log                               10.0 %
      < main                          10.0 %
)");
}

TEST_F(PathTreeTest, MoreCallersMakeItDeeper) {
  Add("f < g < a", 100);
  Add("f < g < b", 300);
  Add("h", 600);
  figures_[2] = {"+1 % (0 to 2)", "not yet known"};
  EXPECT_EQ(Text(), R"(  By function and who calls it, with the samples of all its paths:
    h        60.0 %  +1 % (0 to 2)  not yet known
    f        40.0 %
      < g    40.0 %
        < b  30.0 %
        < a  10.0 %
)");
}

TEST_F(PathTreeTest, ThreadGroupsStandBelowTheOutermostCaller) {
  Add("f < g", 100);
  Add("f < g", 300);
  table_.units[0].thread_group = "io";
  table_.units[1].thread_group = "others";
  figures_[0] = {"+1 % (0 to 2)", "not yet known"};
  EXPECT_EQ(Text(), R"(  By function and who calls it, with the samples of all its paths:
    f            100.0 %
      < g        100.0 %
        @others   75.0 %
        @io       25.0 %  +1 % (0 to 2)  not yet known
)");
}

TEST_F(PathTreeTest, PathsWithFewSamplesAreLeftOutUnlessTheyHaveFigures) {
  Add("f < g", 996);
  Add("f < rare", 4);
  EXPECT_THAT(Text(), Not(HasSubstr("rare")));
  figures_[1] = {"+1 % (0 to 2)", "worth it"};
  EXPECT_THAT(Text(), HasSubstr("    < rare"));
}

TEST_F(PathTreeTest, RowsFitATerminal) {
  Add("Helper", 100);
  Add("Helper < ServeWithALongName", 200);
  figures_[0] = figures_[1] = {"+12 % (10 to 14)", "not yet known"};
  const std::vector<std::string> lines = absl::StrSplit(Text(72), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 4u);
  for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), 72) << line;
}

TEST_F(PathTreeTest, ThereIsNoneOfOtherUnits) {
  Add("f", 100, profile::UNIT_KIND_FUNCTION);
  EXPECT_EQ(Text(), "");
}

TEST_F(PathTreeTest, LongNamesAreShortened) {
  Add("store::Table<std::string, int>::FindOrInsert(std::string const&, int) < serve", 100);
  EXPECT_THAT(Text(70), HasSubstr("FindOrInsert"));
  EXPECT_THAT(Text(70), Not(HasSubstr("std::string const&")));
}

}  // namespace
}  // namespace coz::report
