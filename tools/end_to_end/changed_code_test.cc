// Progress points that changed code counts: how places are counted, and that nothing of the program
// is.

#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/whole_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using ::coz::testing::CommandResult;
using ::coz::testing::Coz;
using ::coz::testing::DeparturesInRun;
using ::coz::testing::FindPoint;
using ::coz::testing::Puppet;
using ::coz::testing::VisitsInRun;

using ChangedCodeTest = testing::CozRunTest;

// In threads, children, handlers of SIGTRAP and while it is blocked; beside samples ten times as
// often as usual.
TEST_F(ChangedCodeTest, CountsEveryCallByEitherWay) {
  const CommandResult result =
      Run({"--progress=step_*", "--progress=looped", "--sampling-period=0.1"}, {Puppet("called")});
  ASSERT_EQ(result.status, 0) << result.errors;
  uint64_t steps = 0;
  uint64_t loops = 0;
  std::istringstream(result.output) >> steps >> loops;
  ASSERT_GT(loops, 80000u);
  const profile::Profile profile = Profile();
  EXPECT_EQ(VisitsInRun(profile, "step_*"), steps);
  EXPECT_EQ(VisitsInRun(profile, "step"), steps);
  EXPECT_EQ(VisitsInRun(profile, "looped"), loops);
  EXPECT_EQ(FindPoint(profile, "step_*").counted_by(), "5 jumps to stubs");
  EXPECT_EQ(FindPoint(profile, "looped").counted_by(), "int3");
}

// The same place, by a jump and by an int3, as a point, in a glob and at an end of a pair.
TEST_F(ChangedCodeTest, CountsForEachPointAtOnePlace) {
  const CommandResult result = Run({"--progress=step_*", "--progress=step_a", "--progress=looped",
                                    "--progress=loope*", "--latency=step_a,looped"},
                                   {Puppet("called")});
  ASSERT_EQ(result.status, 0) << result.errors;
  uint64_t steps = 0;
  uint64_t loops = 0;
  std::istringstream(result.output) >> steps >> loops;
  const profile::Profile profile = Profile();
  EXPECT_EQ(VisitsInRun(profile, "step_*"), steps);
  EXPECT_EQ(VisitsInRun(profile, "step_a"), steps / 5);
  EXPECT_EQ(VisitsInRun(profile, "looped"), loops);
  EXPECT_EQ(VisitsInRun(profile, "loope*"), loops);
  EXPECT_EQ(VisitsInRun(profile, "step_a,looped"), steps / 5);
  EXPECT_EQ(DeparturesInRun(profile, "step_a,looped"), loops);
}

TEST_F(ChangedCodeTest, RefusesMorePointsAtOnePlaceThanItCounts) {
  const CommandResult result = Run({"--progress=step_*", "--progress=step_a", "--progress=step_?",
                                    "--progress=st*_a", "--progress=s*p_a"},
                                   {Puppet("called")});
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.errors, ::testing::HasSubstr("4 points count there already"));
  EXPECT_EQ(result.output, "");
}

TEST_F(ChangedCodeTest, CountsWhatCpuTimersInterrupt) {
  const CommandResult result =
      Run({"--progress=looped", "--sampler=cpu-timer"}, {Puppet("called")});
  ASSERT_EQ(result.status, 0) << result.errors;
  uint64_t steps = 0;
  uint64_t loops = 0;
  std::istringstream(result.output) >> steps >> loops;
  EXPECT_EQ(VisitsInRun(Profile(), "looped"), loops);
}

// A child that is not profiled runs the code as it was.
TEST_F(ChangedCodeTest, LeavesAChildThatIsNotFollowedAlone) {
  const CommandResult result =
      Run({"--progress=step_*", "--progress=looped", "--follow=none"}, {Puppet("called")});
  ASSERT_EQ(result.status, 0) << result.errors;
  uint64_t steps = 0;
  uint64_t loops = 0;
  std::istringstream(result.output) >> steps >> loops;
  EXPECT_EQ(VisitsInRun(Profile(), "step_*"), steps - 5000);
  EXPECT_EQ(VisitsInRun(Profile(), "step"), steps - 5000);
  EXPECT_EQ(VisitsInRun(Profile(), "looped"), loops - 1000);
}

TEST_F(ChangedCodeTest, CountsALine) {
  const CommandResult result = Run({"--progress=busy.c:27"}, {Puppet("busy"), "1"});
  EXPECT_EQ(result.status, 0) << result.errors;
  const profile::Profile profile = Profile();
  EXPECT_GT(VisitsInRun(profile, "busy.c:27"), 100u);
  EXPECT_EQ(VisitsInRun(profile, "busy.c:27"), VisitsInRun(profile, "work"));
}

TEST_F(ChangedCodeTest, NeedsNoPermission) {
  const CommandResult result =
      testing::RunCommand({Puppet("without_perf"), absl::StrCat(EACCES), Coz(), "run",
                           "--progress=spin", "---", Puppet("busy"), "1"},
                          options_);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(VisitsInRun(Profile(), "spin"), VisitsInRun(Profile(), "work"));
}

// What libc does while it blocks signals is not interrupted.
TEST_F(ChangedCodeTest, CountsAFunctionOfLibc) {
  const CommandResult result = Run({"--progress=libc.so*!puts"}, {Puppet("busy"), "1"});
  EXPECT_EQ(result.output, "hello\nbye\n");
  EXPECT_EQ(VisitsInRun(Profile(), "libc.so*!puts"), 2u);
}

TEST_F(ChangedCodeTest, FindsALibraryThatChildrenOpenLater) {
  const std::string library = Puppet("libplugin.so");
  const std::string copy = Path("libcopy.so");
  std::filesystem::copy(library, copy);
  constexpr char kPoint[] = "libplugin.so!plugin_work";
  for (const std::vector<std::string>& openers :
       {std::vector<std::string>{"0", library, "1", library, "2", library},
        std::vector<std::string>{"0", library, "0", copy}}) {
    // Long enough that most of it comes after the search of a starved supervisor.
    std::vector<std::string> command = {Puppet("openers"), "wait", "1500"};
    command.insert(command.end(), openers.begin(), openers.end());
    const CommandResult result = Run({absl::StrCat("--progress=", kPoint)}, command);
    EXPECT_EQ(result.status, 0) << result.errors;
    const profile::Profile profile = Profile();
    EXPECT_GT(VisitsInRun(profile, kPoint), VisitsInRun(profile, "work") / 2);
    EXPECT_LE(VisitsInRun(profile, kPoint), VisitsInRun(profile, "work"));
    EXPECT_EQ(FindPoint(profile, kPoint).counted_by(), "jump to a stub");
  }
}

}  // namespace
}  // namespace coz
