// coz points --pid: what would do as a progress point in a program that runs already.
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coz/base/file_text.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/resident.h"
#include "coz/testing/run_command.h"
#include "coz/testing/whole_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::CommandResult;
using ::testing::ContainsRegex;
using testing::Coz;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Puppet;
using testing::Resident;
using testing::VisitsInRun;

class RunningPointsTest : public testing::CozRunTest {
 protected:
  void SetUp() override {
    COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
    CozRunTest::SetUp();
  }
  CommandResult Points(const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {Coz(), "points"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return RunCommand(command, options_);
  }
  static std::string Pid(const Resident& resident) {
    return absl::StrCat("--pid=", resident.pid());
  }
};

TEST_F(RunningPointsTest, ListsFunctionsAndLeavesTheProcessAsItWas) {
  Resident resident({Puppet("residents"), "1", "200"});
  resident.Line();
  const std::string before = resident.Ask("state\n");
  for (int cycle = 0; cycle < 2; ++cycle) {
    const CommandResult found = Points({"--duration=2", Pid(resident)});
    EXPECT_EQ(found.status, 0) << found.errors;
    EXPECT_THAT(found.errors, ContainsRegex("for coz attach +where\n"));
    EXPECT_THAT(found.errors, ContainsRegex("[0-9]+ +[0-9]+ % +[0-9]+ %  --progress work "));
    EXPECT_THAT(found.errors,
                HasSubstr(absl::StrCat("process ", resident.pid(), " runs on as before")));
    EXPECT_EQ(resident.Ask("state\n"), before);
  }
  int status = -1;
  EXPECT_EQ(resident.End(&status), "right\n");
  EXPECT_EQ(status, 0);
}

TEST_F(RunningPointsTest, WhatIsListedCanBeAttachedWith) {
  Resident resident({Puppet("residents"), "1", "200"});
  resident.Line();
  EXPECT_EQ(Points({"--duration=1", Pid(resident)}).status, 0);
  const CommandResult attached =
      RunCommand({Coz(), "attach", "--experiment-length=0.1", "--duration=2", "--progress", "work",
                  absl::StrCat(resident.pid())},
                 options_);
  EXPECT_EQ(attached.status, 0) << attached.errors;
  EXPECT_GT(VisitsInRun(Profile(), "work"), 0u);
}

TEST_F(RunningPointsTest, ChildrenAreCountedWithTheTree) {
  Resident resident({Puppet("residents"), "2", "200"});
  resident.Line();
  const CommandResult found = Points({"--duration=2", "--tree", Pid(resident)});
  EXPECT_EQ(found.status, 0) << found.errors;
  EXPECT_THAT(found.errors, HasSubstr("--progress work "));
  int status = -1;
  EXPECT_EQ(resident.End(&status), "right\n");
}

TEST_F(RunningPointsTest, DoctorSaysWhetherItCanBeAttachedTo) {
  Resident resident({Puppet("residents"), "1", "200"});
  resident.Line();
  const std::string before = resident.Ask("state\n");
  const CommandResult well = RunCommand({Coz(), "doctor", Pid(resident)}, options_);
  EXPECT_THAT(well.output, ContainsRegex("ok +attach +coz can attach to it; it runs"));
  // It is no neighbour of itself.
  EXPECT_THAT(well.output, Not(HasSubstr("neighbours")));
  EXPECT_THAT(well.output, ContainsRegex(absl::StrCat("Next: .*coz attach ", resident.pid())));
  EXPECT_EQ(resident.Ask("state\n"), before);
  const CommandResult itself = RunCommand({Coz(), "doctor", "--pid=999999999"}, options_);
  EXPECT_EQ(itself.status, 1);
  EXPECT_THAT(itself.output, ContainsRegex("problem +attach"));
}

TEST_F(RunningPointsTest, DoctorKnowsWhatACozHasStarted) {
  const std::string library = testing::RunfilePath("coz/runtime/libcoz.so");
  Resident resident(
      {"/usr/bin/env", absl::StrCat("LD_PRELOAD=", library), Puppet("residents"), "1", "200"});
  resident.Line();
  const CommandResult found = RunCommand({Coz(), "doctor", Pid(resident)}, options_);
  EXPECT_EQ(found.status, 1);
  EXPECT_THAT(found.output, HasSubstr("it was started by coz run or coz points"));
}

TEST_F(RunningPointsTest, SaysThatTheProcessHasEnded) {
  Resident resident({Puppet("residents"), "1", "200"});
  resident.Line();
  options_.while_running = [&resident](pid_t) {
    const std::string maps = absl::StrCat("/proc/", resident.pid(), "/maps");
    while (!absl::StrContains(FileText(maps), "libcoz.so")) usleep(1000);
    int status = -1;
    EXPECT_EQ(resident.End(&status), "right\n");
  };
  const CommandResult found = Points({"--duration=60", Pid(resident)});
  EXPECT_THAT(found.errors, HasSubstr("has ended"));
  EXPECT_THAT(found.errors, Not(HasSubstr("runs on as before")));
}

TEST_F(RunningPointsTest, RefusesWhatMakesNoSense) {
  const auto expect_refused = [this](const std::vector<std::string>& arguments, const char* text) {
    const CommandResult refused = Points(arguments);
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.errors, HasSubstr(text));
  };
  expect_refused({"--pid=1", "---", Puppet("residents")}, "leave the program out");
  expect_refused({"--tree", "---", Puppet("residents")}, "coz points --pid=PID --tree");
  expect_refused({"--pid=1", "--stop"}, "leave --stop out");
  expect_refused({"--pid=1", "--progress-source=breakpoint"}, "leave --progress-source out");
  expect_refused({}, "coz points --pid=PID");
}

}  // namespace
}  // namespace coz
