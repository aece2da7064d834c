#include "coz/report/statistics/student.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(StudentTest, QuantilesMatchTables) {
  EXPECT_NEAR(StudentQuantile(1), 12.7062, 1e-4);
  EXPECT_NEAR(StudentQuantile(2), 4.3027, 1e-4);
  EXPECT_NEAR(StudentQuantile(3), 3.1824, 1e-4);
  EXPECT_NEAR(StudentQuantile(5), 2.5706, 1e-4);
  EXPECT_NEAR(StudentQuantile(10), 2.2281, 1e-4);
  EXPECT_NEAR(StudentQuantile(30), 2.0423, 1e-4);
  EXPECT_NEAR(StudentQuantile(1e9), 1.9600, 1e-4);
}

TEST(StudentTest, PValuesMatchTables) {
  EXPECT_NEAR(TwoSidedPValue(12.7062, 1), 0.05, 1e-6);
  EXPECT_NEAR(TwoSidedPValue(2.228, 10), 0.05, 1e-4);
  EXPECT_NEAR(TwoSidedPValue(-3.182, 3), 0.05, 1e-4);
  EXPECT_NEAR(TwoSidedPValue(1.96, 1e9), 0.05, 1e-4);
  EXPECT_NEAR(TwoSidedPValue(31.599, 2), 0.001, 1e-6);
  EXPECT_EQ(TwoSidedPValue(0, 5), 1);
}

// The quantile and the p-value are inverse to each other, between whole degrees of freedom too.
TEST(StudentTest, AtTheQuantileThePValueIsFivePercent) {
  for (double df = 1; df < 200; df *= 1.1) {
    EXPECT_NEAR(TwoSidedPValue(StudentQuantile(df), df), 0.05, 1e-12) << df;
  }
}

// Data without any noise give a t without bounds.
TEST(StudentTest, EndlessTIsNoLuck) {
  EXPECT_EQ(TwoSidedPValue(kInfinity, 5), 0);
  EXPECT_EQ(TwoSidedPValue(-kInfinity, 5), 0);
  EXPECT_EQ(TwoSidedPValue(1e300, 5), 0);
}

TEST(StudentTest, FewerDegreesOfFreedomThanOneCountAsOne) {
  EXPECT_EQ(StudentQuantile(0), StudentQuantile(1));
  EXPECT_EQ(StudentQuantile(0.5), StudentQuantile(1));
  EXPECT_EQ(TwoSidedPValue(3, 0), TwoSidedPValue(3, 1));
}

TEST(StudentTest, UnknownStaysUnknown) {
  EXPECT_TRUE(std::isnan(StudentQuantile(std::nan(""))));
  EXPECT_TRUE(std::isnan(TwoSidedPValue(std::nan(""), 5)));
  EXPECT_TRUE(std::isnan(TwoSidedPValue(2, std::nan(""))));
}

}  // namespace
}  // namespace coz::report
