#include "coz/supervisor/points/catch_up.h"

#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

TEST(CatchUpTest, EndsWithoutBeginOfTheirThreadDoNotCount) {
  CatchUp pair;
  EXPECT_EQ(pair.Departures({0, 0, 1, 1}), 0u);
  EXPECT_EQ(pair.Departures({5, 4, 3, 1}), 4u);
  EXPECT_FALSE(pair.crosses_threads());
}

// One thread begins, another one ends; three were under way.
TEST(CatchUpTest, BetweenThreadsTheSumsTell) {
  CatchUp pair;
  EXPECT_EQ(pair.Departures({20, 0, 17, 17}), 17u);
  EXPECT_TRUE(pair.crosses_threads());
  EXPECT_EQ(pair.Departures({20, 0, 23, 23}), 20u);
  EXPECT_EQ(pair.Departures({30, 0, 23, 23}), 20u);
  EXPECT_EQ(pair.Departures({30, 0, 33, 33}), 30u);
}

TEST(CatchUpTest, SumNeverFallsWhenThreadsTurnOutToBeCrossed) {
  CatchUp pair;
  EXPECT_EQ(pair.Departures({100, 90, 16, 16}), 90u);
  EXPECT_EQ(pair.Departures({100, 90, 17, 17}), 100u);
}

}  // namespace
}  // namespace coz::supervisor
