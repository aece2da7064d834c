#include "tools/supervisor/switch_cost.h"

#include <sys/wait.h>
#include <unistd.h>

#include "coz/base/clock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

TEST(SwitchCostTest, SwitchesOfChildrenAreThoseOfChildrenThatEnded) {
  const uint64_t before = SwitchesOfChildren();
  constexpr int kSleeps = 50;
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < kSleeps; ++i) usleep(1);
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_GE(SwitchesOfChildren() - before, static_cast<uint64_t>(kSleeps));
}

TEST(SwitchCostTest, EndsAndIsLessThanAnySwitchMayTake) {
  for (const Switched between : {Switched::kThreads, Switched::kProcesses}) {
    EXPECT_LT(MeasureSwitchCostNs(kNsPerMs / 4, between), 100 * kNsPerMs);
  }
}

// A command that starts a short program would take several times as long.
TEST(SwitchCostTest, IsNotMeasuredForTheFewSwitchesOfAShortRun) {
  const SwitchLoad load = MeasureSwitchLoad(100, 5 * kNsPerMs, kNsPerMs, Switched::kThreads);
  EXPECT_EQ(load.switches, 100u);
  EXPECT_EQ(load.cost_ns, 0u);
}

}  // namespace
}  // namespace coz
