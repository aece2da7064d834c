// coz run on programs of several processes: each process does what it does without coz, and one
// profile holds all of them.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coz/report/format/profile_reader.h"
#include "coz/testing/run_command.h"
#include "coz/testing/whole_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::RunfilePath;
using ::coz::testing::SamplesInRun;
using ::coz::testing::VisitsInRun;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Family() { return RunfilePath("coz/testing/puppets/family"); }

// The number of the first line of family.c that has this text.
std::string LineOf(const std::string& part) {
  std::ifstream source(RunfilePath("coz/testing/puppets/family.c"));
  std::string text;
  for (int line = 1; std::getline(source, text); ++line) {
    if (absl::StrContains(text, part)) return absl::StrCat(line);
  }
  return "0";
}

class ProcessesTest : public ::testing::Test {
 protected:
  ProcessesTest() : folder_(testing::TemporaryFolder()) {}

  uint64_t AllVisits() const {
    uint64_t visits = 0;
    for (const profile::ProgressPoint& point : profile_.progress_point()) {
      visits += VisitsInRun(profile_, point.name());
    }
    return visits;
  }

  CommandResult Run(const std::vector<std::string>& coz_options,
                    const std::vector<std::string>& program) {
    testing::CommandOptions options;
    options.folder = folder_;
    std::vector<std::string> arguments = {RunfilePath("tools/coz"), "run",
                                          "--experiment-length=0.1"};
    arguments.insert(arguments.end(), coz_options.begin(), coz_options.end());
    arguments.push_back("---");
    arguments.insert(arguments.end(), program.begin(), program.end());
    CommandResult result = testing::RunCommand(arguments, options);
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_THAT(result.output, HasSubstr("ok\n")) << result.errors;
    EXPECT_THAT(result.errors, Not(HasSubstr("is false"))) << "a process found something wrong";
    const absl::StatusOr<report::ReadResult> read = report::ReadProfile(folder_ + "/profile.pb");
    EXPECT_TRUE(read.ok()) << read.status();
    if (read.ok()) profile_ = read->profile;
    return result;
  }

  // A run without experiments would leave an earlier profile where it is.
  void ForgetProfile() const { std::filesystem::remove(folder_ + "/profile.pb"); }

  const std::string folder_;
  profile::Profile profile_;
};

TEST_F(ProcessesTest, SamplesParentAndChild) {
  Run({}, {Family(), "relay", "1.5"});
  std::map<std::string, uint64_t> samples = SamplesInRun(profile_);
  EXPECT_GT(samples["parents_work"], 10u);
  EXPECT_GT(samples["childs_work"], 10u);
  EXPECT_GT(profile_.experiment_size(), 2);
}

TEST_F(ProcessesTest, AProcessIsProfiledByOneLibrary) {
  Run({}, {Family(), "copy", "0.5"});
  EXPECT_EQ(profile_.process_size(), 1);
  EXPECT_GT(VisitsInRun(profile_, "work"), 0u);
}

TEST_F(ProcessesTest, NamesTheProcesses) {
  Run({}, {Family(), "workers", "3", "0.7"});
  ASSERT_EQ(profile_.process_size(), 4);
  for (const profile::Process& process : profile_.process()) {
    EXPECT_THAT(process.program(), ::testing::EndsWith("family"));
    EXPECT_EQ(process.load_bias(), profile_.process(0).load_bias());
    if (&process != &profile_.process(0)) {
      EXPECT_EQ(process.parent_pid(), profile_.process(0).pid());
    }
  }
  testing::CommandOptions options;
  options.folder = folder_;
  EXPECT_THAT(testing::RunCommand({RunfilePath("tools/coz"), "report"}, options).output,
              HasSubstr("  4 processes: family 4\n"));
}

TEST_F(ProcessesTest, PausesTheParentForTheChildsLine) {
  Run({"--fixed-line=family.c:" + LineOf("x >> 28"), "--fixed-speedup=80"},
      {Family(), "beside", "1.5"});
  uint64_t inserted_ns = 0;
  uint64_t paid_ns = 0;
  for (const profile::Experiment& experiment : profile_.experiment()) {
    inserted_ns += experiment.inserted_delay_ns();
    paid_ns += experiment.validity().paid_ns();
  }
  EXPECT_GT(inserted_ns, 0u);
  EXPECT_GT(paid_ns, 0u) << "only the child has samples in the line, so it was the parent";
}

TEST_F(ProcessesTest, SumsVisitsOfAllProcesses) {
  Run({}, {Family(), "workers", "3", "1"});
  EXPECT_GT(VisitsInRun(profile_, "work"), 100u);
  EXPECT_GT(profile_.experiment_size(), 1);
}

TEST_F(ProcessesTest, LeavesChildrenAloneWhenToldTo) {
  Run({"--follow=none"}, {Family(), "workers", "2", "0.5"});
  EXPECT_EQ(AllVisits(), 0u) << "who makes one is profiled";
}

TEST_F(ProcessesTest, HarmsNoneOfManyShortChildren) {
  Run({}, {Family(), "bomb", "250"});
  // Each tenth child is one of vfork, which does nothing. The visits of the others are all counted,
  // though none was sampled; a few may be in two records, or in none, where an experiment begins or
  // ends.
  EXPECT_NEAR(static_cast<double>(VisitsInRun(profile_, "born")), 225 + 250, 15);
}

TEST_F(ProcessesTest, GoesOnSamplingADaemonThatClosesEveryDescriptor) {
  for (const char* sampler : {"perf-sigtrap", "perf-setsig"}) {
    SCOPED_TRACE(sampler);
    Run({absl::StrCat("--sampler=", sampler)}, {Family(), "closer", "1.2"});
    // A sample each millisecond and a visit each 0.1 ms of the CPU time that it got, however
    // little.
    EXPECT_GT(SamplesInRun(profile_)["spin"] * 40, VisitsInRun(profile_, "work"));
    EXPECT_GT(VisitsInRun(profile_, "work"), 0u);
  }
}

TEST_F(ProcessesTest, SurvivesWorkersThatAreKilled) {
  Run({}, {Family(), "killed", "2"});
  EXPECT_GT(profile_.experiment_size(), 1);
}

TEST_F(ProcessesTest, FollowsAChainOfExecs) {
  Run({}, {Family(), "chain", "5", "1"});
  EXPECT_GT(VisitsInRun(profile_, "work"), 10u);
}

TEST_F(ProcessesTest, LeavesAProgramAloneThatTheFirstBecomesWhenToldTo) {
  Run({"--follow=exec"}, {Family(), "chain", "2", "0.5"});
  EXPECT_GT(VisitsInRun(profile_, "work"), 10u);
  ForgetProfile();
  Run({"--follow=none"}, {Family(), "chain", "2", "0.5"});
  EXPECT_EQ(AllVisits(), 0u) << "who makes one is profiled";
}

TEST_F(ProcessesTest, FollowsSpawnedProgramsAndLeavesBareOnesAlone) {
  const CommandResult result = Run({}, {Family(), "spawn", "1"});
  EXPECT_EQ(result.output, "ok\nok\nok\n");
  EXPECT_GT(VisitsInRun(profile_, "work"), 10u);
  for (const profile::Binary& binary : profile_.binary()) {
    EXPECT_THAT(binary.path(), HasSubstr("family")) << "env(1) is in nobody's scope";
  }
}

TEST_F(ProcessesTest, ProfilesADaemonToItsEndWhenAskedTo) {
  const CommandResult result = Run({}, {Family(), "orphan", "0.5"});
  EXPECT_THAT(result.errors, HasSubstr("--daemon"));
  Run({"--daemon"}, {Family(), "orphan", "1.5"});
  EXPECT_GT(VisitsInRun(profile_, "work"), 10u);
  EXPECT_GT(profile_.experiment_size(), 1);
}

TEST_F(ProcessesTest, FollowsForksPastLibc) {
  const CommandResult result = Run({}, {Family(), "raw", "12"});
  EXPECT_NEAR(static_cast<double>(VisitsInRun(profile_, "born")), 12 * 100, 15);
  // Each visit takes about 0.1 ms of a child's CPU time.
  EXPECT_GT(SamplesInRun(profile_)["spin"] * 40, VisitsInRun(profile_, "born"));
  EXPECT_GT(SamplesInRun(profile_)["parents_work"], 10u)
      << "after the child that shared its descriptors";
  ASSERT_EQ(profile_.process_size(), 14) << "with the one that returns from its function";
  for (int i = 1; i < 14; ++i)
    EXPECT_EQ(profile_.process(i).parent_pid(), profile_.process(0).pid());
  EXPECT_THAT(result.errors,
              HasSubstr("coz: 1 process was not profiled, for which the program called clone()"));
  ForgetProfile();
  const CommandResult alone = Run({"--follow=none"}, {Family(), "raw", "12"});
  EXPECT_EQ(AllVisits(), 0u) << "who makes one is profiled";
  EXPECT_THAT(alone.errors, Not(HasSubstr("were not profiled")));
}

TEST_F(ProcessesTest, SaysThatNobodyIsLeftToWaitFor) {
  const CommandResult result = testing::RunCommand(
      {RunfilePath("tools/coz"), "run", "--follow=none", "--daemon", "---", Family(), "work", "1"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("coz: --daemon waits for processes that --follow=none"));
}

TEST_F(ProcessesTest, FollowsProcessesThatShareLocks) {
  Run({}, {Family(), "shared", "1"});
  EXPECT_GT(VisitsInRun(profile_, "rounds"), 0u);
  EXPECT_THAT(SamplesInRun(profile_), Contains(::testing::Key("childs_work")));
}

TEST_F(ProcessesTest, ProfilesWhatAScriptStarts) {
  Run({"--follow=all"},
      {"/bin/sh", "-c", absl::StrCat(Family(), " work 1 & ", Family(), " work 1; wait")});
  EXPECT_GT(VisitsInRun(profile_, "work"), 10u);
  EXPECT_GT(SamplesInRun(profile_)["spin"], 10u);
}

// As scripts start servers with another allocator.
TEST_F(ProcessesTest, ProfilesWhatAScriptStartsWithALibraryOfItsOwn) {
  const CommandResult result =
      Run({"--follow=all"},
          {"/bin/sh", "-c", absl::StrCat("LD_PRELOAD=libm.so.6 ", Family(), " work 1")});
  EXPECT_GT(VisitsInRun(profile_, "work"), 10u);
  EXPECT_GT(SamplesInRun(profile_)["spin"], 10u);
  EXPECT_THAT(result.errors, Not(HasSubstr("ld.so")));
  ForgetProfile();
  Run({"--follow=all"}, {"/bin/sh", "-c", absl::StrCat("LD_PRELOAD= ", Family(), " work 1")});
  EXPECT_EQ(AllVisits(), 0u) << "who makes one is profiled";
}

}  // namespace
}  // namespace coz
