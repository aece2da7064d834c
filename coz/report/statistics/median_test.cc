#include "coz/report/statistics/median.h"

#include "gtest/gtest.h"

namespace coz::report {
namespace {

TEST(MedianTest, IsTheMiddleValue) {
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 3);
}

TEST(MedianTest, DeviationIsThatOfANormalDistribution) {
  // Its quartiles are 0.6745 standard deviations from the middle.
  EXPECT_NEAR(DeviationAround(10, {10 - 0.6745, 10, 10 + 0.6745}), 1, 1e-4);
  EXPECT_NEAR(DeviationAround(10, {10 - 0.6745, 1e9, 10 + 0.6745}), 1, 1e-4);
}

}  // namespace
}  // namespace coz::report
