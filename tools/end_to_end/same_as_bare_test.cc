// Programs under conditions in which a profiler gets in the way: output, complaints and status are
// what they are without coz.
#include <string>
#include <vector>

#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::RunCommand;
using ::coz::testing::RunfilePath;

std::string Guest() { return RunfilePath("coz/testing/puppets/guest"); }

// With the program's streams in files, so that what coz says is not among them.
CommandResult RunGuest(bool profiled, const std::string& script) {
  testing::CommandOptions options;
  options.folder = testing::TemporaryFolder();
  std::vector<std::string> command = {"/bin/bash", "-c", "exec 2>errors; " + script};
  if (profiled) {
    command.insert(command.begin(),
                   {RunfilePath("tools/coz"), "run", "--follow=all", "--unit=function", "-b",
                    "%guest", "--experiment-length=0.05", "--fixed-speedup=80", "---"});
  }
  CommandResult result = RunCommand(command, options);
  result.errors = RunCommand({"/bin/cat", "errors"}, options).output;
  return result;
}

void ExpectSame(const std::string& script) {
  const CommandResult bare = RunGuest(false, script);
  const CommandResult profiled = RunGuest(true, script);
  EXPECT_NE(bare.output, "");
  EXPECT_EQ(profiled.output, bare.output);
  EXPECT_EQ(profiled.errors, bare.errors);
  EXPECT_EQ(profiled.status, bare.status);
}

TEST(SameAsBareTest, GivesTheProgramEachDescriptorBelowItsLimit) {
  ExpectSame("ulimit -Sn 64; " + Guest() + " descriptors");
  ExpectSame("ulimit -Sn 1024; " + Guest() + " descriptors");
}

// vsftpd does so for each client. The lines come in any order.
TEST(SameAsBareTest, GivesTheProgramAllOfItsAddressSpace) {
  ExpectSame(Guest() + " limited | sort");
}

TEST(SameAsBareTest, LetsTheLimitOfFileSizesEndAProgram) {
  // The shell's own words name the process.
  ExpectSame(
      "exec 2>/dev/null; trap -p XFSZ; (ulimit -f 0; exec cat /proc/self/status >file) 2>&1; echo "
      "$?");
}

TEST(SameAsBareTest, SaysNothingWhereTheLibraryCannotBeOpened) {
  constexpr int kNoNamespace = 77;
  if (RunGuest(false, Guest() + " hidden-library").status == kNoNamespace) {
    GTEST_SKIP() << "required: user namespaces; actual: unshare(2) fails";
  }
  for (const char* how :
       {"exec", "execve", "execvpe", "fexecve", "execveat", "spawn", "system", "popen"}) {
    SCOPED_TRACE(how);
    ExpectSame(Guest() + " hidden-library " + how);
  }
}

// setpriv keeps root's capabilities until it becomes the program.
TEST(SameAsBareTest, SaysNothingWhereTheUserHasChanged) {
  const std::string change = "setpriv --reuid=65534 --clear-groups ";
  const CommandResult bare = RunGuest(false, change + "id -u");
  if (bare.output != "65534\n") {
    GTEST_SKIP() << "required: the right to change the user; actual: " << bare.errors;
  }
  ExpectSame(change + "id -u");
  ExpectSame(change + "bash -c 'id -u; id -un'");
}

TEST(SameAsBareTest, CallsNothingUnderASeccompFilter) {
  for (const char* way : {"strict", "kill", "errno", "cloned"}) {
    SCOPED_TRACE(way);
    ExpectSame(Guest() + " " + way);
  }
}

TEST(SameAsBareTest, SaysThatAProcessRestrictedItself) {
  testing::CommandOptions options;
  options.folder = testing::TemporaryFolder();
  const CommandResult result = RunCommand(
      {RunfilePath("tools/coz"), "run", "--experiment-length=0.05", "---", Guest(), "errno"},
      options);
  EXPECT_THAT(result.errors, ::testing::HasSubstr("1 process was profiled only until "));
}

// As where `head` has seen enough. The program's own pipes break as ever.
TEST(SameAsBareTest, GoesOnWhereNobodyReadsWhatCozSays) {
  testing::CommandOptions options;
  options.folder = testing::TemporaryFolder();
  const std::string program =
      "yes | head -n 1; echo ${PIPESTATUS[0]}; sleep 0.5; echo done; exit 5";
  const CommandResult result = RunCommand(
      {"/bin/bash", "-c",
       "set -o pipefail; { \"$0\" run --verbose --follow=all --experiment-length=0.05 --- bash -c "
       "\"$1\" 2>&1 1>&3 | :; } 3>&1",
       RunfilePath("tools/coz"), program},
      options);
  EXPECT_EQ(result.output, "y\n141\ndone\n");
  EXPECT_EQ(result.status, 5);
}

TEST(SameAsBareTest, CallsNothingWhereItsCallsWouldBeDiverted) {
  ExpectSame(Guest() + " diverted");
}

TEST(SameAsBareTest, SendsNoSignalToATracedProgram) {
  ExpectSame(Guest() + " traced");
  ExpectSame(Guest() + " traced before-exec");
}

// A handler without SA_RESTART ends a blocking call with EINTR, even if a sample comes with the
// signal.
TEST(SameAsBareTest, LetsSignalsEndCalls) { ExpectSame(Guest() + " signalled-reads"); }

TEST(SameAsBareTest, LeavesProgramsAloneThatStartUnderAFilter) {
  ExpectSame(Guest() + " filtered-exec");
}

}  // namespace
}  // namespace coz
