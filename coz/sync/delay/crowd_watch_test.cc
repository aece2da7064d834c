#include "coz/sync/delay/crowd_watch.h"

#include <gtest/gtest.h>

namespace coz::delay {
namespace {

bool Look(CrowdWatch& watch, int live, int runnable, int times, double idle_cpus = 0) {
  bool is_crowd = false;
  for (int i = 0; i < times; ++i) is_crowd = watch.Look(live, runnable, 2, idle_cpus);
  return is_crowd;
}

TEST(CrowdWatchTest, ThreadsThatAlwaysOutnumberCpusAreACrowdSoon) {
  CrowdWatch watch;
  EXPECT_FALSE(Look(watch, 8, 8, 1));
  EXPECT_TRUE(Look(watch, 8, 8, 15));
}

TEST(CrowdWatchTest, OneLookInTenIsNone) {
  CrowdWatch watch;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(Look(watch, 3, 2, 9));
    EXPECT_FALSE(Look(watch, 3, 3, 1));
  }
}

TEST(CrowdWatchTest, LastsWhileAFifthOfTheLooksSeeIt) {
  CrowdWatch watch;
  ASSERT_TRUE(Look(watch, 4, 4, 30));
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(Look(watch, 4, 2, 4));
    EXPECT_TRUE(Look(watch, 4, 3, 1));
  }
  EXPECT_FALSE(Look(watch, 4, 2, 100));
}

TEST(CrowdWatchTest, LastsWhileAProgramMakesNewThreads) {
  CrowdWatch watch;
  ASSERT_TRUE(Look(watch, 5, 5, 30));
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(Look(watch, 2, 2, 2));
    EXPECT_TRUE(Look(watch, 5, 5, 1));
  }
}

TEST(CrowdWatchTest, EndsSoonWhereThereIsACpuForEachThread) {
  CrowdWatch watch;
  ASSERT_TRUE(Look(watch, 4, 4, 30));
  EXPECT_TRUE(Look(watch, 2, 2, 15));
  EXPECT_FALSE(Look(watch, 2, 2, 1));
}

// Whoever looks has a CPU, so those that are woken there meanwhile are queued.
TEST(CrowdWatchTest, ThreadsThatLeaveCpusIdleAreNone) {
  CrowdWatch watch;
  EXPECT_FALSE(Look(watch, 4, 3, 8)) << "not yet";
  EXPECT_FALSE(Look(watch, 4, 3, 200, 0.9));
  EXPECT_TRUE(Look(watch, 4, 3, 200, 0.3));
  EXPECT_TRUE(Look(watch, 4, 3, 200, 0.5));
  EXPECT_FALSE(Look(watch, 4, 3, 200, 0.9));
}

}  // namespace
}  // namespace coz::delay
