#include "coz/report/statistics/group_fit.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "coz/report/statistics/multiple_testing.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

constexpr double kMany = 1e6;  // degrees of freedom

TEST(GroupFitTest, TwoGroupsAreComparedAsByWelch) {
  // Welch's test: t = 0.5 / hypot(0.1, 0.2) = 2.236 with 7.25 degrees of freedom; p by integrating
  // the density.
  const std::vector<GroupFit> fits = FitGroups({{1, 0.1, 4}, {1.5, 0.2, 5}});
  EXPECT_NEAR(fits[0].p_value, 0.0593, 0.0005);
  EXPECT_NEAR(fits[1].p_value, fits[0].p_value, 1e-12);
  EXPECT_DOUBLE_EQ(fits[0].others, 1.5);
  EXPECT_DOUBLE_EQ(fits[1].others, 1);
}

TEST(GroupFitTest, SpreadOfTheOthersCounts) {
  // The others are 0, 1, 2, 3 with errors of 0.1: variance 5/3, of which 0.01 is error.
  const std::vector<GroupFit> fits = FitGroups(
      {{0, 0.1, kMany}, {1, 0.1, kMany}, {2, 0.1, kMany}, {3, 0.1, kMany}, {4, 0.1, kMany}});
  EXPECT_NEAR(fits[4].spread, std::sqrt(5.0 / 3 - 0.01), 1e-9);
  EXPECT_NEAR(fits[4].others, 1.5, 1e-9);
  EXPECT_GT(fits[4].p_value, 0.1);
}

TEST(GroupFitTest, OneThatIsApartIsFoundAndTheOthersFit) {
  std::vector<GroupFigure> figures(10, GroupFigure{0.4, 0.02, 30});
  figures[3].value = 0.1;
  const std::vector<double> p = HolmPValues([&] {
    std::vector<double> values;
    for (const GroupFit& fit : FitGroups(figures)) values.push_back(fit.p_value);
    return values;
  }());
  for (size_t i = 0; i < p.size(); ++i) EXPECT_EQ(p[i] <= 0.05, i == 3) << i;
}

TEST(GroupFitTest, FiguresWithoutErrorAndLoneGroupsAreNotCompared) {
  EXPECT_TRUE(FitGroups({}).empty());
  EXPECT_TRUE(std::isnan(FitGroups({{1, 0.1, 4}})[0].p_value));
  const std::vector<GroupFit> fits =
      FitGroups({{1, 0.1, 40}, {1, std::numeric_limits<double>::infinity(), 0}, {1.05, 0.1, 40}});
  EXPECT_TRUE(std::isnan(fits[1].p_value));
  EXPECT_GT(fits[0].p_value, 0.5);
}

// Share of reports in which a group is named though all are alike, or differ as the others do.
double FalseAlarms(size_t groups, int experiments, double spread, int reports) {
  std::mt19937_64 random(groups * 1000 + static_cast<size_t>(experiments));
  std::normal_distribution<double> normal(0, 1);
  int alarms = 0;
  for (int report = 0; report < reports; ++report) {
    std::vector<GroupFigure> figures;
    for (size_t i = 0; i < groups; ++i) {
      const double df = experiments - 1;
      const double noise = 0.05 * (1 + 0.5 * static_cast<double>(i % 3));
      const double error =
          noise * std::sqrt(std::chi_squared_distribution<double>(df)(random) / df);
      figures.push_back({0.4 + spread * normal(random) + noise * normal(random), error, df});
    }
    std::vector<double> p_values;
    for (const GroupFit& fit : FitGroups(figures)) p_values.push_back(fit.p_value);
    bool named = false;
    for (const double p : HolmPValues(p_values)) named = named || p <= 0.05;
    alarms += named ? 1 : 0;
  }
  return static_cast<double>(alarms) / reports;
}

// With 2,000 reports a rate of 5 % has a standard error of 0.5 points.
TEST(GroupFitTest, FalseAlarmsStayBelowFivePercentOfReports) {
  for (const double spread : {0.0, 0.05, 0.2}) {
    for (const int experiments : {8, 40}) {
      // Two or three groups do not tell how groups differ: each is compared with the others' mean.
      if (spread == 0) {
        EXPECT_LE(FalseAlarms(2, experiments, spread, 2000), 0.065) << experiments;
        EXPECT_LE(FalseAlarms(4, experiments, spread, 2000), 0.065) << experiments;
      }
      for (const size_t groups : {20, 100}) {
        const int reports = groups == 100 ? 500 : 2000;
        EXPECT_LE(FalseAlarms(groups, experiments, spread, reports), 0.065)
            << groups << " " << experiments << " " << spread;
      }
    }
  }
}

}  // namespace
}  // namespace coz::report
