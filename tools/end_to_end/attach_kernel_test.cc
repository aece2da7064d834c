// `coz attach` to a program that has samples in the kernel.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/coz_run.h"
#include "coz/testing/resident.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::CommandResult;
using testing::Resident;

using AttachKernelTest = testing::CozRunTest;

// -1: it says nothing any more.
int Rounds(Resident& resident) {
  int rounds = -1;
  return absl::SimpleAtoi(resident.Ask("rounds\n"), &rounds) ? rounds : -1;
}

// Once the wait is over, nobody handles the signal any more.
TEST_F(AttachKernelTest, SampleBeforeALongWaitDoesNotComeWhenCozHasLeft) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  Resident resident({testing::Puppet("long_poll")});
  ASSERT_EQ(resident.Line(), "ready\n");
  for (int cycle = 0; cycle < 3; ++cycle) {
    const CommandResult result =
        testing::RunCommand({testing::Coz(), "attach", "--sampler=perf-sigtrap", "--unit=function",
                             "--end-to-end", "--duration=0.5", absl::StrCat(resident.pid())},
                            options_);
    ASSERT_TRUE(result.status == 0 || result.status == 3) << result.errors;
    if (absl::StrContains(result.errors, "time in the kernel is not sampled")) {
      GTEST_SKIP() << "no samples in the kernel are permitted";
    }
    const int before = Rounds(resident);
    for (int now = before; now < before + 2; now = Rounds(resident)) ASSERT_GE(now, 0);
  }
  int status = -1;
  EXPECT_EQ(resident.End(&status), "right\n");
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace coz
