#include "coz/report/text/groups_text.h"

#include <limits>
#include <string>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/group_table.h"
#include "coz/report/text/report_text.h"
#include "coz/report/wording/unit_names.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ExperimentTable Names() {
  ExperimentTable table;
  UnitRow& unit = table.units.emplace_back();
  unit.kind = profile::UNIT_KIND_LINE;
  unit.file = "/src/a.cc";
  unit.line = 5;
  table.points.emplace_back().name = "requests";
  return table;
}

GroupTable ThreeHosts() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  GroupTable groups;
  groups.gain_at = 0.3;
  groups.comparisons = 2;
  groups.groups = {{"web-1", 2, 100}, {"web-2", 1, 50}, {"", 1, 3}};
  PointByGroup& point = groups.points.emplace_back();
  point.pace = {{0, 25, {1.5e6, 1.4e6, 1.6e6}, {1e6, nan, nan}}};
  point.lines.push_back({0,
                         {0.12, 0.11, 0.13},
                         {{0, 70, {0.4, 0.38, 0.42}, {0.12, 0.114, 0.126}, {0.1, 0.4, 0.4}},
                          {1, 30, {0.1, 0.05, 0.15}, {0.03, 0.015, 0.045}, {0.4, 1e-7, 2e-7}}}});
  return groups;
}

TEST(GroupsTextTest, HostThatDoesNotFitComesFirstAndIsNamed) {
  const ExperimentTable table = Names();
  const std::string text = RenderGroups(ThreeHosts(), table, UnitNames(table), {});
  EXPECT_THAT(text, HasSubstr("host web-2 does not fit the others at requests: "));
  EXPECT_THAT(text, HasSubstr("a.cc:5 is worth +3 % there, +12 % in all runs together, when it is "
                              "30 % faster\n"));
  EXPECT_THAT(text, HasSubstr("3 hosts, 2 comparisons; in one table of 20"));
  EXPECT_THAT(text, HasSubstr("does not fit the others, p < 0.0001"));
  EXPECT_LT(text.find("web-2 "), text.find("web-1 "));
  EXPECT_THAT(text, HasSubstr("1.5 ms (1.4 ms to 1.6 ms)"));
  EXPECT_THAT(text, HasSubstr("1 of 3 hosts say too little of it"));
}

TEST(GroupsTextTest, GroupsBeyondTheLimitAreCounted) {
  const ExperimentTable table = Names();
  TextOptions options;
  options.max_lines = 1;
  const std::string text = RenderGroups(ThreeHosts(), table, UnitNames(table), options);
  EXPECT_THAT(text, HasSubstr("and 1 more; for all: -n 0"));
}

TEST(GroupsTextTest, HostsThatWerePutTogetherAreNotCalledOne) {
  const ExperimentTable table = Names();
  GroupTable groups = ThreeHosts();
  groups.put_together = true;
  EXPECT_THAT(RenderGroups(groups, table, UnitNames(table), {}),
              HasSubstr("  this is a compact profile with too many hosts to keep each apart, so "
                        "hosts cannot be told apart; merge the ordinary profiles without "
                        "--compact\n  host web-2 does not fit"));
  groups.groups = {{"", 300, 6000}};
  groups.points.clear();
  const std::string text = RenderGroups(groups, table, UnitNames(table), {});
  EXPECT_THAT(text, HasSubstr("hosts cannot be told apart"));
  EXPECT_THAT(text, Not(HasSubstr("nothing to compare")));
}

TEST(GroupsTextTest, TwoBinariesAreNotBinarys) {
  const ExperimentTable table = Names();
  GroupTable groups = ThreeHosts();
  groups.by = GroupBy::kBinary;
  groups.put_together = true;
  const std::string text = RenderGroups(groups, table, UnitNames(table), {});
  EXPECT_THAT(text, HasSubstr("  3 binaries, 2 comparisons"));
  EXPECT_THAT(text, HasSubstr("1 of 3 binaries say too little of it"));
  EXPECT_THAT(text, HasSubstr("so binaries cannot be told apart"));
}

TEST(GroupsTextTest, OneGroupAloneIsNotCompared) {
  const ExperimentTable table = Names();
  GroupTable groups = ThreeHosts();
  groups.by = GroupBy::kKernel;
  groups.groups.resize(1);
  groups.points[0].lines[0].groups.resize(1);
  const std::string text = RenderGroups(groups, table, UnitNames(table), {});
  EXPECT_THAT(text, HasSubstr("all runs are of one kernel"));
  EXPECT_THAT(text, Not(HasSubstr("does not fit")));
}

}  // namespace
}  // namespace coz::report
