#include "coz/report/analysis/group_table.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

struct HostRun {
  std::string host = "host";
  std::string build_id = "one";
  double slope = 0.4;
  double ns_per_visit = 1'000'000;
};

profile::Profile Fleet(const std::vector<HostRun>& runs, uint64_t seed = 1) {
  profile::Profile fleet;
  for (const HostRun& run : runs) {
    SyntheticOptions options;
    options.session = static_cast<uint64_t>(fleet.session_size()) + 1;
    options.seed = seed * 1000 + options.session;
    options.ns_per_visit = run.ns_per_visit;
    SyntheticProfile made(options, {{"/src/app/a.cc", 5, "A()", 0.6, run.slope, {}},
                                    {"/src/app/b.cc", 6, "B()", 0.3, 0.1, {}}});
    made.profile().mutable_session(0)->mutable_machine()->set_host(run.host);
    profile::Binary* binary = made.profile().add_binary();
    binary->set_session(options.session);
    binary->set_path("/usr/bin/server");
    binary->set_build_id(run.build_id);
    made.AddRandomExperiments(120);
    made.End();
    fleet.MergeFrom(made.profile());
  }
  return fleet;
}

GroupTable TableOf(const profile::Profile& profile, GroupBy by, int max_lines = 20) {
  ExperimentTable table = BuildExperimentTable(profile);
  const Analysis analysis = Analyze(profile, table);
  return BuildGroupTable(profile, &table, analysis, by, 0.3, max_lines);
}

std::vector<HostRun> Hosts(int count) {
  std::vector<HostRun> runs;
  for (int i = 0; i < count; ++i) {
    runs.push_back({});
    runs.back().host = "host" + std::to_string(i);
  }
  return runs;
}

TEST(GroupTableTest, EachHostHasTheFiguresOfItsOwnRuns) {
  std::vector<HostRun> runs = Hosts(3);
  runs.push_back(runs[2]);  // a second run there
  const GroupTable table = TableOf(Fleet(runs), GroupBy::kHost);
  ASSERT_EQ(table.groups.size(), 3u);
  EXPECT_EQ(table.groups[1].name, "host1");
  EXPECT_EQ(table.groups[1].sessions, 1u);
  EXPECT_EQ(table.groups[2].sessions, 2u);
  EXPECT_EQ(table.groups[2].experiments, 240);
  const LineByGroup& line = table.points.at(0).lines.at(0);
  ASSERT_EQ(line.groups.size(), 3u);
  for (const GroupLine& group : line.groups) {
    EXPECT_NEAR(group.slope.value, 0.4, 0.05);
    EXPECT_NEAR(group.gain.value, 0.12, 0.015);
    EXPECT_LT(group.gain.low, group.gain.value);
    EXPECT_FALSE(group.fit.DoesNot());
  }
  // Three hosts and two lines; the pace of so few is not compared.
  EXPECT_EQ(table.comparisons, 6);
  EXPECT_EQ(TableOf(Fleet(runs), GroupBy::kHost, 1).comparisons, 3);
}

TEST(GroupTableTest, VersionsWhoseGainsDifferDoNotFit) {
  std::vector<HostRun> runs = Hosts(4);
  runs[2].build_id = runs[3].build_id = "two";
  runs[2].slope = runs[3].slope = 0.1;
  const GroupTable table = TableOf(Fleet(runs, 2), GroupBy::kBinary);
  ASSERT_EQ(table.groups.size(), 2u);
  EXPECT_EQ(table.groups[0].name, "server 6f6e65");
  const LineByGroup& line = table.points.at(0).lines.at(0);
  ASSERT_EQ(line.groups.size(), 2u);
  EXPECT_TRUE(line.groups[0].fit.DoesNot());
  EXPECT_TRUE(line.groups[1].fit.DoesNot());
  EXPECT_NEAR(line.groups[0].fit.others, line.groups[1].slope.value, 1e-9);
  EXPECT_FALSE(table.points[0].lines.at(1).groups.at(0).fit.DoesNot());
}

TEST(GroupTableTest, OddHostIsNamedByGainAndBySpeed) {
  std::vector<HostRun> runs = Hosts(12);
  for (size_t i = 0; i < runs.size(); ++i)
    runs[i].ns_per_visit *= 1 + 0.01 * static_cast<double>(i % 4);
  runs[4].slope = 0.1;
  runs[7].ns_per_visit *= 2;
  const GroupTable table = TableOf(Fleet(runs), GroupBy::kHost);
  const PointByGroup& point = table.points.at(0);
  for (const GroupLine& group : point.lines.at(0).groups) {
    EXPECT_EQ(group.fit.DoesNot(), table.groups[group.group].name == "host4")
        << table.groups[group.group].name;
  }
  ASSERT_EQ(point.pace.size(), 12u);
  for (const GroupPace& pace : point.pace) {
    EXPECT_EQ(pace.fit.DoesNot(), table.groups[pace.group].name == "host7")
        << table.groups[pace.group].name;
  }
  EXPECT_NEAR(point.pace[0].fit.others, 1.015e6, 1e5);
}

TEST(GroupTableTest, HostsThatAreAlikeAreSeldomNamed) {
  int named = 0;
  constexpr int kFleets = 100;
  for (uint64_t seed = 1; seed <= kFleets; ++seed) {
    const GroupTable table = TableOf(Fleet(Hosts(10), seed), GroupBy::kHost);
    EXPECT_EQ(table.comparisons, 30);
    bool any = false;
    for (const LineByGroup& line : table.points.at(0).lines) {
      for (const GroupLine& group : line.groups) any = any || group.fit.DoesNot();
    }
    for (const GroupPace& pace : table.points.at(0).pace) any = any || pace.fit.DoesNot();
    named += any ? 1 : 0;
  }
  // 5 expected at most; 11 or more are as rare as one in a hundred then.
  EXPECT_LE(named, 10);
}

TEST(GroupTableTest, GroupThatTellsNothingHasNoFigureAndIsThere) {
  profile::Profile fleet = Fleet(Hosts(2));
  profile::Session* session = fleet.add_session();
  session->set_id(77);
  session->mutable_machine()->set_host("idle");
  const GroupTable table = TableOf(fleet, GroupBy::kHost);
  ASSERT_EQ(table.groups.size(), 3u);
  EXPECT_EQ(table.groups[2].name, "idle");
  EXPECT_EQ(table.groups[2].experiments, 0);
  EXPECT_EQ(table.points.at(0).lines.at(0).groups.size(), 2u);
}

}  // namespace
}  // namespace coz::report
