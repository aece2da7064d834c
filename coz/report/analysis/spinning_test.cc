#include "coz/report/analysis/spinning.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

ExperimentRow Row(double speedup, uint64_t spinning, double runnable) {
  ExperimentRow row;
  row.virtual_speedup = speedup;
  row.total_samples = 100;
  row.spinning_samples = spinning;
  row.runnable_threads_average = runnable;
  row.cpus = 2;
  return row;
}

UnitRow SpinsFor(uint64_t samples) {
  UnitRow unit;
  unit.spinning_samples = samples;
  return unit;
}

TEST(SpinningTest, IsThatOfBaselines) {
  ExperimentTable table;
  table.experiments.push_back(Row(0, 10, 1.5));
  table.experiments.push_back(Row(0.5, 90, 8));
  table.experiments.push_back(Row(0, 30, 1.5));
  const Spinning spinning = FindSpinning(table);
  EXPECT_THAT(spinning.share, DoubleNear(0.2, 1e-9));
  EXPECT_EQ(spinning.freed, 0) << "nothing waits for the CPUs";
}

TEST(SpinningTest, FreesCpusWhereOthersAreQueuedForThem) {
  ExperimentTable table;
  table.experiments.push_back(Row(0, 10, 8));
  table.experiments.push_back(Row(0, 30, 8));
  table.experiments.push_back(Row(0, 20, 1.5));
  EXPECT_THAT(FindSpinning(table).freed, DoubleNear(0.2, 1e-9));
  EXPECT_EQ(FindSpinning(ExperimentTable()).freed, 0);
}

TEST(SpinningTest, NamesUnitsWithMostOfItFirst) {
  ExperimentTable table;
  table.units = {SpinsFor(0), SpinsFor(20), SpinsFor(70), SpinsFor(1)};
  EXPECT_THAT(FindSpinning(table).units, ElementsAre(2, 1));
}

}  // namespace
}  // namespace coz::report
