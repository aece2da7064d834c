#include "coz/report/analysis/share_left.h"

#include <cmath>
#include <deque>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

TEST(ShareLeftTest, IsAllWhereNothingIsBeside) {
  EXPECT_EQ(ShareLeft({8, 24, 0, 8}), 1) << "threads are queued for each other";
  EXPECT_EQ(ShareLeft({4, 0, 4, 8}), 1) << "the others have CPUs of their own";
  EXPECT_EQ(ShareLeft({}), 1) << "nothing is known";
  EXPECT_EQ(ShareLeft({0, 5, 5, 5}), 1);
}

TEST(ShareLeftTest, IsWhatThreadsGetWhoHaveToWait) {
  EXPECT_DOUBLE_EQ(ShareLeft({4, 4, 4, 8}), 0.5);
  EXPECT_DOUBLE_EQ(ShareLeft({6, 2, 4, 8}), 0.75) << "they sleep now and then, and are queued less";
  EXPECT_DOUBLE_EQ(ShareLeft({6, 30, 2, 8}), 0.75)
      << "a crowd: each thread is queued for the program's others, too";
}

TEST(ShareLeftTest, IsNeverNothing) { EXPECT_DOUBLE_EQ(ShareLeft({1, 99, 9, 8}), 0.1); }

// Half of the CPU time is others' from the third second on.
ExperimentRow Row(uint64_t session, uint64_t start_ms) {
  ExperimentRow row;
  row.session = session;
  row.start_ns = start_ms * 1'000'000;
  if (start_ms < 3000) return row;
  row.busy_beside_ns = 1000;
  row.ran_beside_ns = 500;
  row.queued_beside_ns = 500;
  row.beside_cpu_ns = 500;
  return row;
}

TEST(ShareLeftTest, IsOfTheExperimentsAround) {
  std::deque<ExperimentRow> rows;
  for (uint64_t start_ms = 0; start_ms < 12'000; start_ms += 500) rows.push_back(Row(1, start_ms));
  rows.push_back(Row(2, 100));
  rows[12].busy_beside_ns = rows[12].beside_cpu_ns = 0;
  rows[12].ran_beside_ns = rows[12].queued_beside_ns = 0;  // shorter than the time between looks
  std::swap(rows[13], rows[20]);
  ScaleSpeedups(&rows);
  EXPECT_EQ(rows[0].share_left, 1);
  EXPECT_DOUBLE_EQ(rows[3].share_left, 0.5) << "looks come too late for those at the start";
  EXPECT_DOUBLE_EQ(rows[12].share_left, 0.5) << "as those around it";
  EXPECT_DOUBLE_EQ(rows[13].share_left, 0.5) << "whatever the order";
  EXPECT_DOUBLE_EQ(rows[23].share_left, 0.5);
  EXPECT_EQ(rows[24].share_left, 1) << "another session";
}

TEST(ShareLeftTest, ImpossibleTimesDoNoHarm) {
  std::deque<ExperimentRow> rows;
  for (int i = 0; i < 3; ++i) rows.push_back(Row(1, 4000));
  rows[0].start_ns = 0;
  rows[1].start_ns = ~uint64_t{0};
  rows[2].start_ns = ~uint64_t{0} - 1'000'000'000;
  rows[2].ran_beside_ns = rows[2].queued_beside_ns = ~uint64_t{0};
  ScaleSpeedups(&rows);
  for (const ExperimentRow& row : rows) EXPECT_DOUBLE_EQ(row.share_left, 0.5);
}

TEST(ShareLeftTest, PooledExperimentsStandForThemselves) {
  std::deque<ExperimentRow> rows;
  rows.push_back(Row(1, 0));
  rows.push_back(Row(1, 4000));
  rows[0].block = rows[1].block = 7;
  ScaleSpeedups(&rows);
  EXPECT_EQ(rows[0].share_left, 1);
  EXPECT_DOUBLE_EQ(rows[1].share_left, 0.5);
}

TEST(ShareLeftTest, SpeedupsAreWhatPausesMadeByTheClock) {
  std::deque<ExperimentRow> rows;
  for (int i = 0; i < 4; ++i) rows.push_back(Row(1, 4000));
  rows.push_back(Row(2, 0));
  rows[0].virtual_speedup = 0.75;
  rows[0].achieved_virtual_speedup = 0.7;
  rows[1].virtual_speedup = 0.05;
  rows[2].virtual_speedup = 0;
  rows[3].virtual_speedup = 0.5;
  rows[3].achieved_virtual_speedup = std::nan("");
  rows[4].virtual_speedup = 0.33;
  ScaleSpeedups(&rows);
  EXPECT_DOUBLE_EQ(rows[0].virtual_speedup, 0.4) << "a multiple of 5 %";
  EXPECT_DOUBLE_EQ(rows[0].achieved_virtual_speedup, 0.35);
  EXPECT_DOUBLE_EQ(rows[1].virtual_speedup, 0.05) << "never a baseline";
  EXPECT_TRUE(rows[2].IsBaseline());
  EXPECT_DOUBLE_EQ(rows[3].virtual_speedup, 0.25);
  EXPECT_TRUE(std::isnan(rows[3].achieved_virtual_speedup)) << "still not known";
  EXPECT_DOUBLE_EQ(rows[4].virtual_speedup, 0.33) << "nothing ran beside";
}

}  // namespace
}  // namespace coz::report
