#include "coz/supervisor/target/switch_cost.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include "coz/base/clock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

// Two processes on one CPU that wait for each other. Each turn takes a switch. A sleep may be over
// before the CPU has switched.
TEST(SwitchCostTest, SwitchesOfChildrenAreThoseOfChildrenThatEnded) {
  constexpr int kTurns = 50;
  const auto count = [](cpu_set_t one) {
    const uint64_t before = SwitchesOfChildren();
    int there[2];
    int back[2];
    if (pipe(there) != 0 || pipe(back) != 0) return uint64_t{0};
    if (sched_setaffinity(0, sizeof(one), &one) != 0) return uint64_t{0};
    const pid_t child = fork();
    char byte = 0;
    if (child == 0) {
      for (int i = 0; i < kTurns; ++i) {
        if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1) _exit(1);
      }
      _exit(0);
    }
    for (int i = 0; i < kTurns; ++i) {
      if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) return uint64_t{0};
    }
    if (waitpid(child, nullptr, 0) != child) return uint64_t{0};
    return SwitchesOfChildren() - before;
  };
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  const uint64_t switches = count(one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
  EXPECT_GE(switches, static_cast<uint64_t>(kTurns));
}

TEST(SwitchCostTest, EndsAndIsLessThanAnySwitchMayTake) {
  for (const Switched between : {Switched::kThreads, Switched::kProcesses}) {
    EXPECT_LT(MeasureSwitchCostNs(kNsPerMs / 4, between), 100 * kNsPerMs);
  }
}

// Nobody is to be interrupted by its events any more.
TEST(SwitchCostTest, CostOfAnExpiryLeavesNoEvent) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const auto before = open_files();
  MeasureExpiryCostNs();
  EXPECT_EQ(open_files(), before);
}

// A command that starts a short program would take several times as long.
TEST(SwitchCostTest, IsNotMeasuredForTheFewSwitchesOfAShortRun) {
  const SwitchLoad load = MeasureSwitchLoad(100, 5 * kNsPerMs, kNsPerMs, Switched::kThreads);
  EXPECT_EQ(load.switches, 100u);
  EXPECT_EQ(load.cost_ns, 0u);
}

}  // namespace
}  // namespace coz::supervisor
