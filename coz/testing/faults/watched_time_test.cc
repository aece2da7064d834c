#include "coz/testing/faults/watched_time.h"

#include <cstdint>

#include "coz/base/clock.h"
#include "gtest/gtest.h"

namespace coz::testing {
namespace {

TEST(WatchedTimeTest, IsOverAfterItsLimit) {
  WatchedTime time(5 * kNsPerSecond);
  EXPECT_FALSE(time.IsOver(6 * kNsPerSecond, 2));
  EXPECT_FALSE(time.IsOver(7 * kNsPerSecond - 1, 2));
  EXPECT_TRUE(time.IsOver(7 * kNsPerSecond, 2));
}

TEST(WatchedTimeTest, AStopOfAllProcessesIsOneSecond) {
  WatchedTime time(0);
  EXPECT_FALSE(time.IsOver(600 * kNsPerSecond, 2));
  EXPECT_TRUE(time.IsOver(601 * kNsPerSecond, 2));
}

}  // namespace
}  // namespace coz::testing
