#include "coz/sampler/timer_table.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "coz/testing/in_child.h"
#include "gtest/gtest.h"

namespace coz::sampler {
namespace {

// None comes due in a test.
constexpr uint64_t kHourNs = 3'600'000'000'000;

int32_t Tid() { return static_cast<int32_t>(syscall(SYS_gettid)); }

HeldTimer Start() {
  HeldTimer timer;
  EXPECT_EQ(StartTimer(CLOCK_THREAD_CPUTIME_ID, Tid(), {kHourNs, kHourNs}, SIGTRAP, &timer), 0);
  return timer;
}

// Of the kernel.
int Timers() {
  std::ifstream timers("/proc/self/timers");
  std::string line;
  int count = 0;
  while (std::getline(timers, line)) count += line.rfind("ID:", 0) == 0 ? 1 : 0;
  return count;
}

siginfo_t SignalOf(int number, void* value) {
  siginfo_t info = {};
  info.si_code = SI_TIMER;
  info.si_timerid = number;
  info.si_value.sival_ptr = value;
  return info;
}

class TimerTableTest : public ::testing::Test {
 protected:
  void TearDown() override { DeleteAllTimers(); }
};

TEST_F(TimerTableTest, AllAreDeletedAtOnce) {
  HeldTimer first = Start();
  const HeldTimer second = Start();
  EXPECT_EQ(Timers(), 2);
  EXPECT_TRUE(HasTimer(Tid()));
  DeleteAllTimers();
  EXPECT_EQ(Timers(), 0);
  EXPECT_FALSE(HasTimer(Tid()));
  EXPECT_FALSE(IsThere(first));
  EXPECT_FALSE(IsThere(second));
  DeleteTimer(&first);
  EXPECT_EQ(first.place_plus_1, 0u);
}

// One has its place, and another holds a note of the one before.
TEST_F(TimerTableTest, WhoeverHoldsOneThatIsGoneLeavesTheNextAlone) {
  HeldTimer gone = Start();
  DeleteAllTimers();
  const HeldTimer next = Start();
  ASSERT_EQ(next.place_plus_1, gone.place_plus_1);
  DeleteTimer(&gone);
  EXPECT_TRUE(IsThere(next));
  EXPECT_EQ(Timers(), 1);
}

TEST_F(TimerTableTest, PlacesAreUsedAgain) {
  const HeldTimer kept = Start();
  for (uint32_t i = 0; i < kMostTimers + 10; ++i) {
    HeldTimer timer = Start();
    ASSERT_NE(timer.place_plus_1, 0u) << i;
    DeleteTimer(&timer);
  }
  EXPECT_TRUE(IsThere(kept));
  EXPECT_EQ(Timers(), 1);
}

TEST_F(TimerTableTest, TimersOfOneThreadAreDeleted) {
  Start();
  Start();
  DeleteTimersOf(Tid() + 1);
  EXPECT_EQ(Timers(), 2);
  DeleteTimersOf(Tid());
  EXPECT_EQ(Timers(), 0);
}

TEST_F(TimerTableTest, WhatIsRefusedLeavesNoEntry) {
  HeldTimer timer;
  EXPECT_LT(StartTimer(CLOCK_THREAD_CPUTIME_ID, -1, {kHourNs, kHourNs}, SIGTRAP, &timer), 0);
  EXPECT_EQ(timer.place_plus_1, 0u);
  EXPECT_FALSE(HasTimer(-1));
}

TEST_F(TimerTableTest, SignalsOfTheProgramsTimersAreNone) {
  int value = 0;
  EXPECT_FALSE(IsFromTimer(SignalOf(0, &value)));
  EXPECT_FALSE(IsFromTimer(SignalOf(0, nullptr)));
}

TEST_F(TimerTableTest, ChildOfForkHasNone) {
  Start();
  EXPECT_EQ(testing::RunInChild([] {
              ForgetTimers();
              const bool is_right = !HasTimer(getppid()) && Start().place_plus_1 == 1;
              _exit(is_right && Timers() == 1 ? 0 : 1);
            }),
            0);
  EXPECT_TRUE(HasTimer(Tid()));
}

}  // namespace
}  // namespace coz::sampler
