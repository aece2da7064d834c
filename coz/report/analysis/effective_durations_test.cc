#include "coz/report/analysis/effective_durations.h"

#include <deque>
#include <utility>

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

TEST(ShareLeftTest, WhatOnlyOthersCanHaveCausedCountsWhoeverTheyAre) {
  EXPECT_DOUBLE_EQ(ShareLeft({4, 4, 1, 8, 4}), 0.5) << "a build, of which a part is known";
  EXPECT_DOUBLE_EQ(ShareLeft({4, 4, 1, 8, 1}), 0.8) << "a crowd, now and then";
  EXPECT_DOUBLE_EQ(ShareLeft({4, 2, 4, 8, 2}), 4.0 / 6);
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

TEST(EffectiveDurationsTest, ShareLeftIsOfTheExperimentsAround) {
  std::deque<ExperimentRow> rows;
  for (uint64_t start_ms = 0; start_ms < 12'000; start_ms += 500) rows.push_back(Row(1, start_ms));
  rows.push_back(Row(2, 100));
  rows[12].busy_beside_ns = rows[12].beside_cpu_ns = 0;
  rows[12].ran_beside_ns = rows[12].queued_beside_ns = 0;  // shorter than the time between looks
  std::swap(rows[13], rows[20]);
  SetEffectiveDurations(&rows);
  EXPECT_EQ(rows[0].share_left, 1);
  EXPECT_DOUBLE_EQ(rows[3].share_left, 0.5) << "looks come too late for those at the start";
  EXPECT_DOUBLE_EQ(rows[12].share_left, 0.5) << "as those around it";
  EXPECT_DOUBLE_EQ(rows[13].share_left, 0.5) << "whatever the order";
  EXPECT_DOUBLE_EQ(rows[23].share_left, 0.5);
  EXPECT_EQ(rows[24].share_left, 1) << "another session";
}

TEST(EffectiveDurationsTest, ImpossibleTimesDoNoHarm) {
  std::deque<ExperimentRow> rows;
  for (int i = 0; i < 3; ++i) rows.push_back(Row(1, 4000));
  rows[0].start_ns = 0;
  rows[1].start_ns = ~uint64_t{0};
  rows[2].start_ns = ~uint64_t{0} - 1'000'000'000;
  rows[2].ran_beside_ns = rows[2].queued_beside_ns = ~uint64_t{0};
  SetEffectiveDurations(&rows);
  for (const ExperimentRow& row : rows) EXPECT_DOUBLE_EQ(row.share_left, 0.5);
}

TEST(EffectiveDurationsTest, PooledExperimentsStandForThemselves) {
  std::deque<ExperimentRow> rows;
  rows.push_back(Row(1, 0));
  rows.push_back(Row(1, 4000));
  rows[0].block = rows[1].block = 7;
  SetEffectiveDurations(&rows);
  EXPECT_EQ(rows[0].share_left, 1);
  EXPECT_DOUBLE_EQ(rows[1].share_left, 0.5);
}

TEST(EffectiveDurationsTest, DelayTakesLongerByTheClock) {
  const auto add = [](uint64_t effective_ns, std::deque<ExperimentRow>* rows) {
    ExperimentRow& row = rows->emplace_back(Row(1, 4000));
    row.elapsed_ns = 1000;
    row.effective_duration_ns = effective_ns;
    row.points.push_back({0, 10, 10, static_cast<double>(effective_ns), nullptr});
  };
  std::deque<ExperimentRow> rows;
  for (const uint64_t effective_ns : {1000, 800, 400, 1003, 0}) add(effective_ns, &rows);
  SetEffectiveDurations(&rows);
  EXPECT_EQ(rows[0].effective_duration_ns, 1000u) << "a baseline";
  EXPECT_EQ(rows[1].effective_duration_ns, 600u);
  EXPECT_DOUBLE_EQ(rows[1].points[0].duration, 600);
  EXPECT_EQ(rows[2].effective_duration_ns, 0u) << "more delay than time";
  EXPECT_EQ(rows[2].points[0].duration, 0);
  EXPECT_EQ(rows[3].effective_duration_ns, 1000u) << "no experiment inserts less than nothing";
  EXPECT_EQ(rows[4].effective_duration_ns, 0u);
}

TEST(EffectiveDurationsTest, DelayOfWaitsIsByTheClock) {
  std::deque<ExperimentRow> rows;
  rows.push_back(Row(1, 4000));
  rows[0].elapsed_ns = 1000;
  rows[0].effective_duration_ns = 800;
  rows[0].speeds_up_waits = true;
  SetEffectiveDurations(&rows);
  EXPECT_EQ(rows[0].effective_duration_ns, 800u);
}

// 1000 ns on a quota of half a CPU, of which 100 were paused for delay, and as much was imposed.
ExperimentRow RowBelowQuota(uint64_t periods, uint64_t throttled) {
  ExperimentRow row;
  row.session = 1;
  row.elapsed_ns = 1000;
  row.effective_duration_ns = 900;
  row.points.push_back({0, 10, 10, 900, nullptr});
  row.quota_periods = periods;
  row.quota_throttled_periods = throttled;
  row.quota_allowed_ns = 500;
  row.quota_used_ns = 480;
  row.pause_cpu_ns = 30;
  row.imposed_ns = 100;
  return row;
}

ExperimentRow AfterSetting(ExperimentRow row) {
  std::deque<ExperimentRow> rows;
  rows.push_back(std::move(row));
  SetEffectiveDurations(&rows);
  return std::move(rows.front());
}

TEST(EffectiveDurationsTest, CpuTimeIsWhatCountsWhereAQuotaIsUsedUp) {
  const ExperimentRow row = AfterSetting(RowBelowQuota(5, 5));
  EXPECT_EQ(row.share_throttled, 1);
  EXPECT_EQ(row.effective_duration_ns, 700u) << "(480 - 30 - 100) / 0.5";
  EXPECT_DOUBLE_EQ(row.points[0].duration, 700);
  ExperimentRow unknown = RowBelowQuota(5, 5);
  unknown.quota_used_ns = 0;
  EXPECT_EQ(AfterSetting(std::move(unknown)).effective_duration_ns, 740u) << "all that is allowed";
}

TEST(EffectiveDurationsTest, WaitsTakeNothingOfAQuota) {
  ExperimentRow row = RowBelowQuota(5, 5);
  row.speeds_up_waits = true;
  EXPECT_EQ(AfterSetting(std::move(row)).effective_duration_ns, 900u) << "(480 - 30) / 0.5";
}

TEST(EffectiveDurationsTest, QuotaThatIsNotUsedUpChangesNothing) {
  EXPECT_EQ(AfterSetting(RowBelowQuota(5, 0)).effective_duration_ns, 900u);
  EXPECT_EQ(AfterSetting(RowBelowQuota(0, 0)).effective_duration_ns, 900u)
      << "nobody wanted to run";
  EXPECT_EQ(AfterSetting(RowBelowQuota(5, 2)).effective_duration_ns, 820u) << "in between";
  ExperimentRow unknown = RowBelowQuota(5, 0);
  unknown.quota_used_ns = 0;
  EXPECT_EQ(AfterSetting(std::move(unknown)).effective_duration_ns, 900u);
}

// A program that is so much faster needs the CPUs all the time.
TEST(EffectiveDurationsTest, QuotaBoundsWhatASpeedupBrings) {
  ExperimentRow row = RowBelowQuota(5, 0);
  row.effective_duration_ns = 500;
  row.points[0].duration = 500;
  EXPECT_EQ(AfterSetting(std::move(row)).effective_duration_ns, 700u);
}

TEST(EffectiveDurationsTest, WhoRunsAndPaysLateDoesNotMatterWhereAQuotaIsUsedUp) {
  for (const bool is_used_up : {false, true}) {
    ExperimentRow row = RowBelowQuota(5, is_used_up ? 5 : 4);
    row.owed_ns = row.excess_ns = 9;
    row.cpus = 2;
    row.runnable_threads_average = 5;
    row = AfterSetting(std::move(row));
    EXPECT_EQ(row.IsCrowded(), !is_used_up);
    EXPECT_EQ(row.owed_ns, is_used_up ? 0 : 9);
    EXPECT_EQ(row.excess_ns, is_used_up ? 0 : 9);
  }
}

TEST(EffectiveDurationsTest, MoreDelayThanTheQuotaAllowsLeavesNothing) {
  ExperimentRow row = RowBelowQuota(5, 5);
  row.imposed_ns = ~uint64_t{0};
  EXPECT_EQ(AfterSetting(std::move(row)).effective_duration_ns, 0u);
}

TEST(EffectiveDurationsTest, ShareThrottledIsOfTheExperimentsAround) {
  std::deque<ExperimentRow> rows;
  rows.push_back(RowBelowQuota(0, 0));
  rows.push_back(RowBelowQuota(5, 4));
  rows[1].start_ns = 1'000'000'000;
  rows.push_back(RowBelowQuota(5, 0));
  rows[2].start_ns = 4'000'000'000;
  SetEffectiveDurations(&rows);
  EXPECT_DOUBLE_EQ(rows[0].share_throttled, 0.8) << "shorter than a period";
  EXPECT_DOUBLE_EQ(rows[2].share_throttled, 0);
}

}  // namespace
}  // namespace coz::report
