#include "coz/supervisor/points/look_pace.h"

#include <gtest/gtest.h>

#include "coz/base/clock.h"

namespace coz::supervisor {
namespace {

TEST(LookPaceTest, FirstLookIsDue) { EXPECT_TRUE(LookPace().IsDue(0)); }

TEST(LookPaceTest, CheapLooksFollowEachOtherAtTheShortestTime) {
  LookPace pace;
  pace.Looked(kNsPerSecond, 1000);
  EXPECT_FALSE(pace.IsDue(kNsPerSecond + LookPace::kShortestNs - 1));
  EXPECT_TRUE(pace.IsDue(kNsPerSecond + LookPace::kShortestNs));
}

TEST(LookPaceTest, DearLooksTakeHalfAPercentOfTheTime) {
  LookPace pace;
  pace.Looked(kNsPerSecond, 2 * kNsPerMs);
  EXPECT_FALSE(pace.IsDue(kNsPerSecond + 400 * kNsPerMs - 1));
  EXPECT_TRUE(pace.IsDue(kNsPerSecond + 400 * kNsPerMs));
}

TEST(LookPaceTest, NoTimeIsLongerThanTheLongest) {
  LookPace pace;
  pace.Looked(kNsPerSecond, ~uint64_t{0});
  EXPECT_TRUE(pace.IsDue(kNsPerSecond + LookPace::kLongestNs));
}

}  // namespace
}  // namespace coz::supervisor
