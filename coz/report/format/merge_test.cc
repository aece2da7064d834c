#include "coz/report/format/merge.h"

#include <fstream>
#include <sstream>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/latency_summary.h"
#include "coz/report/format/profile_reader.h"
#include "coz/report/format/program_identity.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MergeTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return ::testing::TempDir() + "/" + name; }

  std::string Write(const std::string& name, uint64_t session, const std::string& build_id,
                    const std::string& given = "") {
    report_testing::SyntheticOptions options;
    options.session = session;
    options.seed = session;
    report_testing::SyntheticProfile synthetic(options, {report_testing::SyntheticLine{}});
    synthetic.AddRandomExperiments(20);
    synthetic.End();
    profile::Profile profile = synthetic.profile();
    profile.clear_binary();
    profile::Binary* binary = profile.add_binary();
    binary->set_session(session);
    binary->set_path("/bin/" + build_id);
    binary->set_build_id(build_id);
    profile.mutable_session(0)->mutable_options()->set_given(given);
    std::ofstream(Path(name), std::ios::binary) << profile.SerializeAsString();
    return Path(name);
  }

  absl::StatusOr<MergeResult> Merge(const std::vector<std::string>& inputs,
                                    bool any_program = false) {
    MergeOptions options;
    options.any_program = any_program;
    options.inputs = inputs;
    options.output = Path("out.pb");
    return MergeProfiles(options);
  }
};

std::string Message(const absl::StatusOr<MergeResult>& result) {
  return std::string(result.status().message());
}

// What only some points have: latencies of numbered requests, how visits were counted and at what
// cost.
TEST_F(MergeTest, PointsKeepWhatTheyHave) {
  const auto write = [this](const std::string& name, uint64_t session) {
    profile::Profile profile;
    {
      std::ifstream in(Write(name, session, "same"), std::ios::binary);
      EXPECT_TRUE(profile.ParseFromIstream(&in));
    }
    profile.mutable_progress_point(0)->set_kind(profile::PROGRESS_POINT_KIND_LATENCY);
    profile.mutable_progress_point(0)->set_counted_by("probe (uprobe)");
    profile.mutable_progress_point(0)->set_visit_cost_ns(9000 + session);
    for (profile::Experiment& experiment : *profile.mutable_experiment()) {
      profile::PointCounts* counts = experiment.mutable_point(0);
      counts->set_arrivals(100 + session);
      counts->set_departures(100);
      counts->set_in_flight_average(1.5);
      counts->add_latency_from_ns(1000 * session);
      counts->add_latency_to_ns(1000 * session + 100);
      counts->add_latency_requests(7);
    }
    profile::PointChange* change = profile.add_point_change();
    change->set_session(session);
    change->set_point(profile.progress_point(0).id());
    change->set_added(false);
    change->set_at_ns(UINT64_MAX);
    std::ofstream(Path(name), std::ios::binary) << profile.SerializeAsString();
    return profile;
  };
  const profile::Profile first = write("a.pb", 1);
  const profile::Profile second = write("b.pb", 2);
  const auto result = Merge({Path("a.pb"), Path("b.pb")});
  ASSERT_TRUE(result.ok()) << result.status();
  const auto read = ReadProfile(Path("out.pb"));
  ASSERT_TRUE(read.ok()) << read.status();
  const profile::Profile& merged = read->profile;
  ASSERT_EQ(merged.progress_point_size(), 2);
  ASSERT_EQ(merged.experiment_size(), first.experiment_size() + second.experiment_size());
  const auto bytes = [](const auto& record) { return record.SerializeAsString(); };
  EXPECT_EQ(bytes(merged.progress_point(0)), bytes(first.progress_point(0)));
  EXPECT_EQ(bytes(merged.progress_point(1)), bytes(second.progress_point(0)));
  for (int i = 0; i < first.experiment_size(); ++i) {
    EXPECT_EQ(bytes(merged.experiment(i)), bytes(first.experiment(i)));
    EXPECT_EQ(bytes(merged.experiment(first.experiment_size() + i)), bytes(second.experiment(i)));
  }
  ASSERT_EQ(merged.point_change_size(), 2);
  EXPECT_EQ(bytes(merged.point_change(1)), bytes(second.point_change(0)));
  // Of both together: half of the requests took 1 us, half 2.
  const ExperimentTable table = BuildExperimentTable(merged);
  ASSERT_EQ(table.points.size(), 1u);
  EXPECT_EQ(table.points[0].counted_by, "probe (uprobe)");
  const LatencySummary latency = SummarizeLatency(table, 0);
  EXPECT_NEAR(latency.p99_ns, 2100, 10);
  EXPECT_LT(latency.median_ns, 2100);
}

TEST_F(MergeTest, WhatIsImportedMayBeOfAnyProgram) {
  Write("a.pb", 1, "same");
  for (const char* name : {"old.pb", "older.pb"}) {
    profile::Profile imported;
    profile::Session* session = imported.add_session();
    session->set_id(name == std::string("old.pb") ? 2 : 3);
    session->set_coz_version(kOriginalCozVersion);
    std::ofstream(Path(name), std::ios::binary) << imported.SerializeAsString();
  }
  for (const auto& inputs : {std::vector<std::string>{Path("a.pb"), Path("old.pb")},
                             std::vector<std::string>{Path("old.pb"), Path("a.pb")}}) {
    const auto refused = Merge(inputs);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.status().message()),
                ::testing::StartsWith(Path("old.pb") + " is of the original Coz"));
    EXPECT_TRUE(Merge(inputs, /*any_program=*/true).ok());
  }
  EXPECT_TRUE(Merge({Path("old.pb"), Path("older.pb")}).ok());
}

TEST_F(MergeTest, AllExperimentsAreThere) {
  const auto result = Merge({Write("a.pb", 1, "same"), Write("b.pb", 2, "same")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->sessions, 2u);
  EXPECT_EQ(result->experiments, 40u);
  const auto read = ReadProfile(Path("out.pb"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->profile.experiment_size(), 40);
  EXPECT_EQ(BuildExperimentTable(read->profile).orphans, 0u);
}

TEST_F(MergeTest, SameProfileTwiceCountsOnce) {
  const std::string a = Write("a.pb", 1, "same");
  const auto result = Merge({a, a});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->repeated_sessions, 1u);
  EXPECT_EQ(result->experiments, 20u);
}

TEST_F(MergeTest, OutputMayBeAnInput) {
  Write("out.pb", 1, "same");
  ASSERT_TRUE(Merge({Path("out.pb"), Write("b.pb", 2, "same")}).ok());
  EXPECT_EQ(ReadProfile(Path("out.pb"))->profile.experiment_size(), 40);
}

TEST_F(MergeTest, OtherProgramIsRefusedByBothNamesAndNothingIsWritten) {
  Write("out.pb", 7, "old");
  const auto result = Merge({Write("a.pb", 1, "one"), Write("b.pb", 2, "two")});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(result), HasSubstr("a.pb"));
  EXPECT_THAT(Message(result), HasSubstr("b.pb"));
  EXPECT_THAT(Message(result), HasSubstr("6f6e65"));  // "one"
  EXPECT_EQ(ReadProfile(Path("out.pb"))->profile.session(0).id(), 7u);
}

TEST_F(MergeTest, OtherUnitIsRefused) {
  const std::string lines = Write("lines.pb", 1, "same");
  const std::string functions = Write("functions.pb", 2, "same");
  auto profile = ReadProfile(functions)->profile;
  profile.mutable_session(0)->mutable_options()->set_unit_kind(profile::UNIT_KIND_FUNCTION);
  std::ofstream(functions, std::ios::binary) << profile.SerializeAsString();
  for (const auto& inputs : {std::vector{lines, functions}, std::vector{functions, lines}}) {
    EXPECT_THAT(Message(Merge(inputs)),
                AllOf(HasSubstr("--unit=line"), HasSubstr("--unit=function")));
  }
}

TEST_F(MergeTest, OtherGivenIsRefused) {
  const auto result = Merge({Write("a.pb", 1, "same"), Write("b.pb", 2, "same", "x.cc:1=50%")});
  EXPECT_THAT(Message(result), HasSubstr("--given 'x.cc:1=50%'"));
}

TEST_F(MergeTest, OtherThreadsAreRefused) {
  const std::string of_some = Write("a.pb", 1, "same");
  profile::Profile profile = ReadProfile(of_some)->profile;
  profile.mutable_session(0)->mutable_options()->add_thread("io*");
  std::ofstream(of_some, std::ios::binary) << profile.SerializeAsString();
  const auto result = Merge({of_some, Write("b.pb", 2, "same")});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(result), HasSubstr("a.pb was made with --thread 'io*'"));
}

TEST_F(MergeTest, OtherThreadGroupsAreRefused) {
  const std::string split = Write("a.pb", 1, "same");
  profile::Profile profile = ReadProfile(split)->profile;
  profile.mutable_session(0)->mutable_options()->add_thread_group("io=io*");
  std::ofstream(split, std::ios::binary) << profile.SerializeAsString();
  const auto result = Merge({split, Write("b.pb", 2, "same")});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(result), HasSubstr("a.pb was made with --thread-group 'io=io*'"));
}

TEST_F(MergeTest, CutInputIsTakenAsFarAsItGoes) {
  const std::string a = Write("a.pb", 1, "same");
  std::stringstream bytes;
  bytes << std::ifstream(a, std::ios::binary).rdbuf();
  std::ofstream(a, std::ios::binary) << bytes.str().substr(0, bytes.str().size() - 3);
  const auto result = Merge({a, Write("b.pb", 2, "same")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->noted_inputs, 1u);
  EXPECT_THAT(result->notes.front(), HasSubstr("a.pb"));
}

TEST_F(MergeTest, WhatIsNoProfileIsNamed) {
  std::ofstream(Path("text.pb")) << "hello";
  EXPECT_THAT(Message(Merge({Path("text.pb")})), HasSubstr("text.pb"));
  EXPECT_THAT(Message(Merge({Path("missing.pb")})), HasSubstr("missing.pb"));
}

}  // namespace
}  // namespace coz::report
