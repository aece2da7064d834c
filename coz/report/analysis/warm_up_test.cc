#include "coz/report/analysis/warm_up.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

// One experiment a second, at 0 % but for each third, of one point with so many visits a second.
ExperimentTable TableOf(const std::vector<double>& rates) {
  ExperimentTable table;
  table.points.emplace_back();
  table.points[0].kind = profile::PROGRESS_POINT_KIND_THROUGHPUT;
  uint64_t second = 0;
  for (const double rate : rates) {
    ExperimentRow& row = table.experiments.emplace_back();
    row.session = 3;
    row.start_ns = second * 1'000'000'000;
    row.elapsed_ns = 1'000'000'000;
    row.virtual_speedup = second % 3 == 2 ? 0.5 : 0;
    row.points.push_back({0, rate, static_cast<uint64_t>(rate), 1e9, nullptr});
    BareRow& bare = table.bare.emplace_back();
    bare.session = 3;
    bare.start_ns = row.start_ns + row.elapsed_ns;
    bare.points.push_back({0, rate, static_cast<uint64_t>(rate), 1e8, nullptr});
    ++second;
  }
  return table;
}

std::vector<double> Steady(size_t count) {
  std::vector<double> rates;
  for (size_t i = 0; i < count; ++i) rates.push_back(100 + static_cast<double>(i % 4));
  return rates;
}

size_t Used(const ExperimentTable& table) {
  size_t used = 0;
  for (const ExperimentRow& row : table.experiments) used += row.points.size();
  return used;
}

TEST(WarmUpTest, BeginningOfAnotherRateIsLeftOut) {
  std::vector<double> rates = Steady(30);
  rates[0] = 700;
  rates[1] = 650;
  rates[2] = 900;  // sped up
  ExperimentTable table = TableOf(rates);
  LeaveOutWarmUps(&table);
  EXPECT_EQ(Used(table), 27u);
  ASSERT_EQ(table.warm_ups.size(), 1u);
  EXPECT_EQ(table.warm_ups[0].session, 3u);
  EXPECT_EQ(table.warm_ups[0].until_ns, 3'000'000'000u);
  EXPECT_NEAR(table.warm_ups[0].rate, 7, 0.2);
  EXPECT_TRUE(table.bare[1].points.empty());
  EXPECT_FALSE(table.bare[2].points.empty()) << "it begins where the usual rate does";
}

TEST(WarmUpTest, SlowBeginningIsOne) {
  std::vector<double> rates = Steady(30);
  rates[0] = 20;
  ExperimentTable table = TableOf(rates);
  LeaveOutWarmUps(&table);
  EXPECT_EQ(Used(table), 29u);
}

TEST(WarmUpTest, SteadyProgramHasNone) {
  ExperimentTable table = TableOf(Steady(30));
  LeaveOutWarmUps(&table);
  EXPECT_EQ(Used(table), 30u);
  EXPECT_TRUE(table.warm_ups.empty());
}

TEST(WarmUpTest, LittleIsNone) {
  std::vector<double> rates = Steady(30);
  rates[0] = 140;
  ExperimentTable table = TableOf(rates);
  LeaveOutWarmUps(&table);
  EXPECT_EQ(Used(table), 30u);
}

TEST(WarmUpTest, ProgramWhoseRateVariesHasNone) {
  std::vector<double> rates(30);
  for (size_t i = 0; i < rates.size(); ++i) rates[i] = i % 2 == 0 ? 100 : 180;
  rates[0] = 300;
  ExperimentTable table = TableOf(rates);
  LeaveOutWarmUps(&table);
  EXPECT_EQ(Used(table), 30u);
}

TEST(WarmUpTest, LongOneIsAPhaseOfTheProgram) {
  std::vector<double> rates = Steady(30);
  for (size_t i = 0; i < 7; ++i) rates[i] = 700;
  ExperimentTable table = TableOf(rates);
  LeaveOutWarmUps(&table);
  EXPECT_EQ(Used(table), 30u);
}

TEST(WarmUpTest, FewBaselinesTellNothing) {
  std::vector<double> rates = Steady(12);
  rates[0] = 700;
  ExperimentTable table = TableOf(rates);
  LeaveOutWarmUps(&table);
  EXPECT_EQ(Used(table), 12u);
}

TEST(WarmUpTest, PooledExperimentsHaveNoTime) {
  std::vector<double> rates = Steady(30);
  rates[0] = 700;
  ExperimentTable table = TableOf(rates);
  for (ExperimentRow& row : table.experiments) row.block = 5;
  LeaveOutWarmUps(&table);
  EXPECT_EQ(Used(table), 30u);
}

}  // namespace
}  // namespace coz::report
