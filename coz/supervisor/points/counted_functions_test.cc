#include "coz/supervisor/points/counted_functions.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "coz/base/clock.h"
#include "coz/shared/control_block.h"
#include "coz/testing/zeroed_control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

// Timed by the test in its own program.
extern "C" __attribute__((noinline)) int TimedByTest(int n) {
  volatile int sum = n;
  for (int i = 0; i < n; ++i) sum = sum + i;
  return sum;
}

namespace coz::supervisor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(CountedFunctionsTest, DoesNotTimeWhereTheTargetHasTakenAllNumbers) {
  ASSERT_GT(TimedByTest(3), 0);
  CountedFunctionOptions options;
  options.time = {"TimedByTest"};
  auto counted = CountedFunctions::Prepare(options, "/proc/self/exe", false);
  if (absl::IsFailedPrecondition(counted.status())) GTEST_SKIP() << counted.status();
  ASSERT_TRUE(counted.ok()) << counted.status();
  const auto control = testing::ZeroedControl();
  for (auto& function : control->timed_functions) function = 1;
  (*counted)->TakeSlots(control.get());
  EXPECT_EQ(control->api.count, 0u) << "it lies behind the table";
  EXPECT_THAT((*counted)->TakeWarnings(), Contains(HasSubstr("counted, and not timed")));
}

// A block in private memory is the test's own. The child runs the same program, so that its code
// lies where the function is looked for.
TEST(CountedFunctionsTest, HasNoProcessOfOthersChangeItsCode) {
  CountedFunctionOptions options;
  options.count = {"TimedByTest"};
  auto counted = CountedFunctions::Prepare(options, "/proc/self/exe", false);
  ASSERT_TRUE(counted.ok()) << counted.status();
  const auto control = testing::ZeroedControl();
  (*counted)->TakeSlots(control.get());
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  shared::ProcessSlot& process = control->processes[0];
  control->processes_high_water = 1;
  process.pid = child;
  process.image = 6;
  process.counters_fs_offset = 8;
  process.state = shared::ProcessState::kRunning;
  (*counted)->Poll(*control, MonotonicNowNs(), true);
  EXPECT_EQ(control->patch_request.count, 0u);
  EXPECT_EQ(control->patch_request.pid, 0);
  EXPECT_EQ(process.armed, 7u) << "a process of the profile must not wait for ever";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace coz::supervisor
