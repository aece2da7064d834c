#include "coz/experiment/random.h"

#include <array>

#include "gtest/gtest.h"

namespace coz {
namespace {

TEST(RandomTest, SameSeedGivesTheSameNumbersForEver) {
  Random random(42);
  EXPECT_EQ(random.Next(), 9050367633831436209u);
  EXPECT_EQ(random.Next(), 4722572250383357577u);
}

TEST(RandomTest, StreamsOfOneSeedDiffer) {
  Random first(42, 0);
  Random second(42, 1);
  int equal = 0;
  for (int i = 0; i < 1000; ++i) equal += first.Below(1000) == second.Below(1000);
  EXPECT_LT(equal, 20);
}

TEST(RandomTest, BelowIsUniform) {
  Random random(7);
  std::array<int, 10> counts = {};
  for (int i = 0; i < 100000; ++i) ++counts[random.Below(10)];
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 10000.0) * (count - 10000.0) / 10000.0;
  EXPECT_LT(chi_square, 27.9);  // 9 degrees of freedom, 1 in 1000
}

TEST(RandomTest, FractionStaysBelowOne) {
  Random random(1);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double fraction = random.Fraction();
    ASSERT_GE(fraction, 0);
    ASSERT_LT(fraction, 1);
    sum += fraction;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.01);
}

}  // namespace
}  // namespace coz
