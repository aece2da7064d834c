#include "coz/report/statistics/multiple_testing.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

// The example of Benjamini and Hochberg's paper: of 15 p-values, four are found at 5 %.
TEST(MultipleTestingTest, QValuesFindWhatThePaperFinds) {
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
  const std::vector<double> q = QValues(p);
  int found = 0;
  for (double value : q) found += value <= 0.05 ? 1 : 0;
  EXPECT_EQ(found, 4);
  EXPECT_NEAR(q[3], 0.0095 * 15 / 4, 1e-9);
  EXPECT_EQ(q[14], 1.0);
}

TEST(MultipleTestingTest, QValuesNeverFallAsPValuesRiseAndKeepTheirPlaces) {
  const std::vector<double> q = QValues({0.04, 0.01, 0.03});
  EXPECT_NEAR(q[0], 0.04, 1e-12);
  EXPECT_NEAR(q[1], 0.03, 1e-12);
  EXPECT_NEAR(q[2], 0.04, 1e-12);
}

TEST(MultipleTestingTest, MissingPValuesAreNoTests) {
  const std::vector<double> q = QValues({0.02, std::nan("")});
  EXPECT_NEAR(q[0], 0.02, 1e-12);
  EXPECT_TRUE(std::isnan(q[1]));
  EXPECT_TRUE(QValues({}).empty());
}

TEST(MultipleTestingTest, HolmCountsTheTestsThatAreLeft) {
  const std::vector<double> p = HolmPValues({0.03, 0.01, std::nan(""), 0.04, 0.005});
  EXPECT_NEAR(p[4], 0.02, 1e-12);
  EXPECT_NEAR(p[1], 0.03, 1e-12);
  EXPECT_NEAR(p[0], 0.06, 1e-12);
  EXPECT_NEAR(p[3], 0.06, 1e-12);  // never below the one before
  EXPECT_TRUE(std::isnan(p[2]));
  EXPECT_EQ(HolmPValues({0.9, 0.8})[0], 1.0);
}

}  // namespace
}  // namespace coz::report
