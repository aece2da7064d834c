#include "coz/base/random.h"

#include <array>
#include <cmath>

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

// A share of e^-t of the times is longer than t means.
TEST(RandomTest, ExponentialTimesAreOfAPoissonProcess) {
  Random random(3);
  constexpr int kDraws = 100000;
  double sum = 0;
  std::array<int, 5> longer = {};
  int longer_by_another_mean = 0;
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t time = random.ExponentialTime(1000);
    sum += static_cast<double>(time);
    for (size_t means = 0; means < longer.size(); ++means) longer[means] += time >= 500 * means;
    longer_by_another_mean += time >= 2000;
  }
  EXPECT_NEAR(sum / kDraws, 1000, 10);
  for (size_t means = 0; means < longer.size(); ++means) {
    EXPECT_NEAR(longer[means], kDraws * std::exp(-0.5 * static_cast<double>(means)), 700) << means;
  }
  // The past says nothing: of the times above one mean, the same share lasts another as of all.
  EXPECT_NEAR(static_cast<double>(longer_by_another_mean) / longer[2], std::exp(-1), 0.01);
}

TEST(RandomTest, ExponentialTimesKeepTheirMeanWhereItIsLarge) {
  Random random(4);
  const double mean = 4e9;
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    sum += static_cast<double>(random.ExponentialTime(static_cast<uint64_t>(mean)));
  }
  EXPECT_NEAR(sum / 100000 / mean, 1, 0.01);
}

}  // namespace
}  // namespace coz
