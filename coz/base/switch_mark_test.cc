#include "coz/base/switch_mark.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <thread>

namespace coz {
namespace {

// Chance may take a mark away, so `attempt` is given some tries to see it stay.
template <typename Attempt>
bool OnceIn100(Attempt attempt) {
  for (int i = 0; i < 100; ++i) {
    if (attempt()) return true;
  }
  return false;
}

TEST(SwitchMarkTest, StaysWhileTheThreadRuns) {
  if (!SwitchMarksWork()) GTEST_SKIP() << "libc has registered no rseq area";
  EXPECT_TRUE(OnceIn100([] {
    SetSwitchMark();
    volatile int sum = 0;
    for (int i = 0; i < 1000; ++i) sum = sum + i;
    return HoldsSwitchMark();
  }));
}

TEST(SwitchMarkTest, GoesWithEachWait) {
  if (!SwitchMarksWork()) GTEST_SKIP() << "libc has registered no rseq area";
  for (int i = 0; i < 100; ++i) {
    SetSwitchMark();
    const timespec moment = {0, 1000};
    ASSERT_EQ(nanosleep(&moment, nullptr), 0);
    ASSERT_FALSE(HoldsSwitchMark());
  }
}

TEST(SwitchMarkTest, GoesWhereAnotherThreadGetsTheCpu) {
  if (!SwitchMarksWork()) GTEST_SKIP() << "libc has registered no rseq area";
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  std::atomic<int> turns{0};
  std::atomic<bool> stop{false};
  std::thread other([&] {  // inherits the CPU
    while (!stop) turns.fetch_add(1);
  });
  for (int i = 0; i < 10; ++i) {
    SetSwitchMark();
    const int seen = turns.load();
    while (turns.load() == seen) {  // until the other one has had it
    }
    EXPECT_FALSE(HoldsSwitchMark());
  }
  stop = true;
  other.join();
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST(SwitchMarkTest, EachThreadHasItsOwn) {
  if (!SwitchMarksWork()) GTEST_SKIP() << "libc has registered no rseq area";
  bool holds = true;
  std::thread([&] { holds = HoldsSwitchMark(); }).join();
  EXPECT_FALSE(holds);
}

}  // namespace
}  // namespace coz
