// `coz report --by` of compact profiles.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/group_table.h"
#include "coz/report/compact/testing/put_together.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

constexpr int kHosts = 10;

enum class Hosts { kAlike, kTwoAreOdd };

// 10 hosts, of which one may have another gain, and one may be half as fast. There are two binaries
// and kernels.
std::vector<profile::Profile> Fleet(int sessions, Hosts hosts) {
  std::vector<profile::Profile> fleet;
  for (int i = 0; i < sessions; ++i) {
    const int host = i % kHosts;
    SyntheticOptions options;
    options.session = static_cast<uint64_t>(i) + 1;
    options.seed = options.session;
    const bool odd = hosts == Hosts::kTwoAreOdd;
    options.ns_per_visit *= (odd && host == 7 ? 2 : 1) * (1 + 0.01 * (host % 4));
    SyntheticProfile made(options,
                          {{"/src/app/a.cc", 5, "A()", 0.6, odd && host == 4 ? 0.1 : 0.4, {}},
                           {"/src/app/b.cc", 6, "B()", 0.3, 0.1, {}}});
    profile::Machine* machine = made.profile().mutable_session(0)->mutable_machine();
    machine->set_host("host" + std::to_string(host));
    machine->set_kernel(host < 3 ? "6.1" : "6.12");
    profile::Binary* binary = made.profile().add_binary();
    binary->set_session(options.session);
    binary->set_path("/usr/bin/server");
    binary->set_build_id(i / kHosts % 2 == 0 ? "one" : "two");
    made.AddRandomExperiments(100);
    made.End();
    fleet.push_back(std::move(made.profile()));
  }
  return fleet;
}

GroupTable TableOf(const profile::Profile& profile, GroupBy by) {
  ExperimentTable table = BuildExperimentTable(profile);
  const Analysis analysis = Analyze(profile, table);
  return BuildGroupTable(profile, &table, analysis, by, 0.3, 0);
}

void ExpectSame(const GroupTable& compact, const GroupTable& ordinary) {
  EXPECT_FALSE(compact.put_together);
  EXPECT_EQ(compact.comparisons, ordinary.comparisons);
  ASSERT_EQ(compact.groups.size(), ordinary.groups.size());
  for (size_t i = 0; i < ordinary.groups.size(); ++i) {
    EXPECT_EQ(compact.groups[i].name, ordinary.groups[i].name);
    EXPECT_EQ(compact.groups[i].sessions, ordinary.groups[i].sessions);
    EXPECT_EQ(compact.groups[i].experiments, ordinary.groups[i].experiments);
  }
  const PointByGroup& point = compact.points.at(0);
  const PointByGroup& expected = ordinary.points.at(0);
  ASSERT_EQ(point.pace.size(), expected.pace.size());
  for (size_t i = 0; i < expected.pace.size(); ++i) {
    const std::string& name = ordinary.groups[expected.pace[i].group].name;
    EXPECT_EQ(point.pace[i].baselines, expected.pace[i].baselines) << name;
    EXPECT_NEAR(point.pace[i].ns_per_visit.value / expected.pace[i].ns_per_visit.value, 1, 0.002)
        << name;
    EXPECT_EQ(point.pace[i].fit.DoesNot(), expected.pace[i].fit.DoesNot()) << name;
  }
  ASSERT_EQ(point.lines.size(), expected.lines.size());
  for (size_t k = 0; k < expected.lines.size(); ++k) {
    ASSERT_EQ(point.lines[k].groups.size(), expected.lines[k].groups.size());
    for (size_t i = 0; i < expected.lines[k].groups.size(); ++i) {
      const GroupLine& line = point.lines[k].groups[i];
      const GroupLine& other = expected.lines[k].groups[i];
      const std::string& name = ordinary.groups[other.group].name;
      EXPECT_EQ(line.experiments, other.experiments) << name;
      EXPECT_NEAR(line.slope.value, other.slope.value, 0.01) << name;
      EXPECT_NEAR(line.gain.value, other.gain.value, 0.01) << name;
      EXPECT_EQ(line.fit.DoesNot(), other.fit.DoesNot()) << name;
    }
  }
}

TEST(CompactGroupsTest, GroupsOfACompactProfileSayTheSame) {
  const std::vector<profile::Profile> fleet = Fleet(20 * kHosts, Hosts::kAlike);
  const profile::Profile compact = Compacted(fleet, 16'000);
  ASSERT_LE(compact.experiment_size(), 16'000);
  ASSERT_GT(compact.experiment(0).pooled(), 0u);
  for (const GroupBy by : {GroupBy::kHost, GroupBy::kBinary, GroupBy::kKernel}) {
    SCOPED_TRACE(GroupWord(by));
    ExpectSame(TableOf(compact, by), TableOf(Together(fleet), by));
  }
}

TEST(CompactGroupsTest, OddHostsAreNamed) {
  const std::vector<profile::Profile> fleet = Fleet(20 * kHosts, Hosts::kTwoAreOdd);
  const GroupTable hosts = TableOf(Compacted(fleet, 16'000), GroupBy::kHost);
  ExpectSame(hosts, TableOf(Together(fleet), GroupBy::kHost));
  EXPECT_TRUE(hosts.points[0].pace.at(7).fit.DoesNot());
  EXPECT_TRUE(hosts.points[0].lines[0].groups.at(4).fit.DoesNot());
}

TEST(CompactGroupsTest, BinariesStayApartWhereHostsDoNot) {
  const std::vector<profile::Profile> fleet = Fleet(10 * kHosts, Hosts::kAlike);
  const profile::Profile compact = Compacted(fleet, 2'000);
  const GroupTable hosts = TableOf(compact, GroupBy::kHost);
  EXPECT_TRUE(hosts.put_together);
  ASSERT_EQ(hosts.groups.size(), 1u);
  EXPECT_EQ(hosts.groups[0].name, "");
  EXPECT_EQ(hosts.groups[0].sessions, 100u);
  EXPECT_TRUE(TableOf(compact, GroupBy::kKernel).put_together);
  ExpectSame(TableOf(compact, GroupBy::kBinary), TableOf(Together(fleet), GroupBy::kBinary));
}

}  // namespace
}  // namespace coz::report
