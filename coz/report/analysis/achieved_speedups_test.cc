#include "coz/report/analysis/achieved_speedups.h"

#include <cmath>
#include <deque>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

void Add(double speedup, double share, uint64_t samples, std::deque<ExperimentRow>* rows) {
  ExperimentRow& row = rows->emplace_back();
  row.virtual_speedup = speedup;
  row.achieved_virtual_speedup = share * speedup;
  row.selected_samples = samples;
}

TEST(AchievedSpeedupsTest, ChanceIsTakenForChance) {
  std::deque<ExperimentRow> rows;
  // 200 ms of delay by 200 ms of samples, at either speedup.
  Add(0.5, 2, 20, &rows);
  Add(0.5, 2.0 / 3, 60, &rows);
  Add(0.8, 1.2, 50, &rows);
  Add(0.8, 0.8, 50, &rows);
  SteadyAchievedSpeedups(&rows);
  EXPECT_NEAR(rows[0].achieved_virtual_speedup, 0.5, 0.02);
  EXPECT_EQ(rows[0].achieved_virtual_speedup, rows[1].achieved_virtual_speedup);
  EXPECT_NEAR(rows[2].achieved_virtual_speedup, 0.8, 0.02);
  EXPECT_EQ(rows[2].achieved_virtual_speedup, rows[3].achieved_virtual_speedup);
}

TEST(AchievedSpeedupsTest, WhatASpeedupAlwaysMissesIsKept) {
  std::deque<ExperimentRow> rows;
  for (int i = 0; i < 4; ++i) {
    Add(0.5, 1 + (i % 2) * 0.02, 100, &rows);
    Add(1, 0.6 + (i % 2) * 0.02, 100, &rows);
  }
  SteadyAchievedSpeedups(&rows);
  EXPECT_NEAR(rows[0].achieved_virtual_speedup, 0.505, 0.01);
  EXPECT_NEAR(rows[1].achieved_virtual_speedup, 0.61, 0.02);
}

TEST(AchievedSpeedupsTest, UnitsSessionsAndPartsAreApart) {
  std::deque<ExperimentRow> rows;
  for (int i = 0; i < 4; ++i) Add(0.5, 1 - 0.1 * i, 100, &rows);
  rows[1].session = 7;
  rows[2].part = 1;
  rows[3].unit = 3;
  SteadyAchievedSpeedups(&rows);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(rows[static_cast<size_t>(i)].achieved_virtual_speedup, 0.5 * (1 - 0.1 * i), 1e-12);
  }
}

TEST(AchievedSpeedupsTest, WhatIsNotKnownStaysSo) {
  std::deque<ExperimentRow> rows;
  Add(0.5, 1, 100, &rows);
  Add(0.5, 0, 100, &rows);
  Add(0.5, std::nan(""), 100, &rows);
  Add(0.5, 3, 100, &rows);
  rows[3].block = 9;  // pooled
  Add(0.5, 1, 0, &rows);
  SteadyAchievedSpeedups(&rows);
  EXPECT_EQ(rows[0].achieved_virtual_speedup, 0.5);
  EXPECT_EQ(rows[1].achieved_virtual_speedup, 0);
  EXPECT_TRUE(std::isnan(rows[2].achieved_virtual_speedup));
  EXPECT_EQ(rows[3].achieved_virtual_speedup, 1.5);
  EXPECT_EQ(rows[4].achieved_virtual_speedup, 0.5);
}

}  // namespace
}  // namespace coz::report
