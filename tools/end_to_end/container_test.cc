// coz attach, points and threads from outside the container of a process: another PID namespace,
// with mounts of its own.
#include <signal.h>
#include <sys/types.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/resident.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::CommandResult;
using testing::Coz;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Puppet;
using testing::Resident;

std::vector<std::string> InContainer(const std::vector<std::string>& command) {
  std::vector<std::string> all = {"/usr/bin/unshare", "--pid",        "--mount",
                                  "--fork",           "--mount-proc", "--kill-child"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

class ContainerTest : public testing::CozRunTest {
 protected:
  std::string WhyNoContainer() {
    const CommandResult made = RunCommand(InContainer({"true"}), options_);
    if (made.status == 0) return testing::MissingPerfEvents();
    return absl::StrCat("required: PID and mount namespaces; actual: ", made.errors);
  }
  CommandResult Shell(const std::string& script) {
    return RunCommand({"bash", "-c", script}, options_);
  }
  std::string Attach(const std::string& options, pid_t pid) {
    return absl::StrCat(Coz(), " attach --experiment-length=0.1 ", options, " ", pid);
  }
};

// The first process of a container, by its number outside.
pid_t FirstIn(const Resident& container) {
  const std::string pid = absl::StrCat(container.pid());
  std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
  pid_t first = 0;
  children >> first;
  return first;
}

TEST_F(ContainerTest, ProcessIsProfiledFromOutside) {
  COZ_REQUIRE_CAPABILITY(WhyNoContainer());
  Resident container(InContainer({Puppet("resident"), "4"}));
  ASSERT_EQ(container.Line(), "ready\n");
  const pid_t pid = FirstIn(container);
  const CommandResult relative = Shell(Attach("--duration=2", pid));
  EXPECT_EQ(relative.status, 0) << relative.errors;
  EXPECT_THAT(relative.errors, HasSubstr(absl::StrCat("process ", pid, " is process 1 of its")));
  EXPECT_GT(Profile().experiment_size(), 0);
  // By an absolute path, and with the copy of libcoz.so that is there by now.
  const CommandResult absolute = Shell(Attach("--duration=2 -o " + Path("absolute.pb"), pid));
  EXPECT_EQ(absolute.status, 0) << absolute.errors;
  EXPECT_GT(Profile("absolute.pb").experiment_size(), 0);
}

// As by `unshare --pid --fork`: its /proc has the numbers of the outside.
TEST_F(ContainerTest, ProcessIsFoundWhereProcIsOfTheOutside) {
  COZ_REQUIRE_CAPABILITY(WhyNoContainer());
  Resident container(
      {"/usr/bin/unshare", "--pid", "--fork", "--kill-child", Puppet("resident"), "4"});
  ASSERT_EQ(container.Line(), "ready\n");
  const pid_t pid = FirstIn(container);
  const CommandResult result = Shell(Attach("--duration=2", pid));
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_GT(Profile().experiment_size(), 0);
}

// Starts a process as a service that sees no home folders, where coz was built.
std::vector<std::string> WithoutOurLibrary() {
  const std::string hides = absl::StrCat("mount -t tmpfs none $(dirname $(readlink -f ",
                                         testing::RunfilePath("coz/runtime/libcoz.so"),
                                         ")) && exec ", Puppet("resident"), " 4");
  return {"/usr/bin/unshare", "--mount", "/bin/sh", "-c", hides};
}

TEST_F(ContainerTest, ProcessWithOtherMountsGetsTheLibrary) {
  COZ_REQUIRE_CAPABILITY(WhyNoContainer());
  Resident service(WithoutOurLibrary());
  ASSERT_EQ(service.Line(), "ready\n");
  const CommandResult result = Shell(Attach("--duration=2", service.pid()));
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_GT(Profile().experiment_size(), 0);
}

// The link is there for it, and what it leads to is not.
TEST_F(ContainerTest, ProcessWithOtherMountsGetsALibraryThatALinkLeadsTo) {
  COZ_REQUIRE_CAPABILITY(WhyNoContainer());
  Resident service(WithoutOurLibrary());
  ASSERT_EQ(service.Line(), "ready\n");
  const std::string library = testing::RunfilePath("coz/runtime/libcoz.so");
  ASSERT_EQ(Shell(absl::StrCat("mkdir -p tools coz/runtime; cp -L ", Coz(),
                               " tools; ln -s $(readlink -f ", library, ") coz/runtime"))
                .status,
            0);
  const CommandResult result =
      Shell(absl::StrCat("tools/coz attach --experiment-length=0.1 --duration=2 ", service.pid()));
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_GT(Profile().experiment_size(), 0);
}

// coz goes to where it sees what the process does.
TEST_F(ContainerTest, SaysThatMountsHideTheProgramsFile) {
  COZ_REQUIRE_CAPABILITY(WhyNoContainer());
  std::string hides = absl::StrCat("exec 3<&0; ", Puppet("resident"), " 4 <&3 & ");
  for (const std::string& file :
       {testing::RunfilePath("coz/runtime/libcoz.so"), Puppet("resident")}) {
    absl::StrAppend(&hides, "mount -t tmpfs none $(dirname $(readlink -f ", file, ")) && ");
  }
  Resident service({"/usr/bin/unshare", "--mount", "/bin/sh", "-c", hides + "echo hidden; wait"});
  ASSERT_NE(service.Line(), "");
  ASSERT_NE(service.Line(), "");
  const CommandResult result = Shell(Attach("--duration=1", FirstIn(service)));
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.errors, HasSubstr("hides its program file"));
}

TEST_F(ContainerTest, SaysThatThereIsNoProc) {
  COZ_REQUIRE_CAPABILITY(WhyNoContainer());
  const CommandResult result =
      Shell(absl::StrCat("unshare --mount sh -c 'mount -t tmpfs none /proc && ", Coz(), " run --- ",
                         Puppet("resident"), "'"));
  EXPECT_THAT(result.errors, HasSubstr("type: mount -t proc proc /proc"));
}

TEST_F(ContainerTest, SessionIsAskedFromOutside) {
  COZ_REQUIRE_CAPABILITY(WhyNoContainer());
  Resident container(InContainer({Puppet("resident"), "4"}));
  ASSERT_EQ(container.Line(), "ready\n");
  const std::string pid = absl::StrCat(FirstIn(container));
  const CommandResult asked = Shell(absl::StrCat(
      Attach("--duration=2", FirstIn(container)), " >attach.log 2>&1 & coz=$!; until ", Coz(),
      " points --session ", pid, " >points.log 2>&1; do kill -0 $coz || break; done; ", Coz(),
      " threads ", pid, "; wait $coz; echo status $?; cat points.log"));
  EXPECT_THAT(asked.output, HasSubstr("resident"));
  EXPECT_THAT(asked.output, HasSubstr("status 0"));
  EXPECT_THAT(asked.output, HasSubstr("handed  mark in the source")) << asked.errors;
}

TEST_F(ContainerTest, ProcessesOfOneThatTheProgramStartsAreNamed) {
  COZ_REQUIRE_CAPABILITY(WhyNoContainer());
  const std::string run = absl::StrCat(Coz(), " run --unit=library --end-to-end --- ");
  const auto is_told = HasSubstr("not profiled that run in a PID namespace of their own");
  EXPECT_THAT(Shell(run + absl::StrJoin(InContainer({"true"}), " ")).errors, is_told);
  EXPECT_THAT(Shell(run + "unshare --fork true").errors, Not(is_told));
}

// With the first process the kernel kills all others there, coz's too.
TEST_F(ContainerTest, ProfileOutlivesTheContainer) {
  COZ_REQUIRE_CAPABILITY(WhyNoContainer());
  Resident container(InContainer({Puppet("resident"), "4"}));
  ASSERT_EQ(container.Line(), "ready\n");
  const pid_t pid = FirstIn(container);
  const CommandResult ended =
      Shell(absl::StrCat(Attach("", pid),
                         " & coz=$!; until [ $(stat -c %s profile.pb 2>/dev/null "
                         "|| echo 0) -gt 2000 ]; do kill -0 $coz || break; done; kill -KILL ",
                         pid, "; wait $coz; echo status $?"));
  EXPECT_THAT(ended.output, HasSubstr("status 137"));
  EXPECT_THAT(ended.errors, HasSubstr(absl::StrCat("the container of process ", pid)));
  EXPECT_THAT(ended.errors, HasSubstr("coz report profile.pb"));
  EXPECT_GT(Profile().experiment_size(), 0);
}

}  // namespace
}  // namespace coz
