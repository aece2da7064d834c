#include "bench/median.h"

#include <gtest/gtest.h>

namespace coz {
namespace {

TEST(MedianTest, OfOneIsThatOne) { EXPECT_DOUBLE_EQ(Median({3}), 3); }

TEST(MedianTest, OfAnOddNumberIsTheMiddleOne) { EXPECT_DOUBLE_EQ(Median({9, 1, 4}), 4); }

// The larger of two would make every figure of a study with two rounds too large.
TEST(MedianTest, OfAnEvenNumberFavoursNeitherSide) {
  EXPECT_DOUBLE_EQ(Median({1, 2}), 1.5);
  EXPECT_DOUBLE_EQ(Median({7, 1, 2, 100}), 4.5);
}

}  // namespace
}  // namespace coz
