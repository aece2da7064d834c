#include "coz/shared/spinning_units.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::shared {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::map<uint32_t, uint64_t> All(const SpinningUnits& units) {
  std::map<uint32_t, uint64_t> all;
  ForEachSpinningUnit(units, [&all](uint32_t unit, uint64_t samples) { all[unit] += samples; });
  return all;
}

TEST(SpinningUnitsTest, AddsUpByUnit) {
  SpinningUnits units = {};
  AddSpinning(units, 7, 1);
  AddSpinning(units, 7 + kMaxSpinningUnits, 2);  // the same place
  AddSpinning(units, 0, 3);
  AddSpinning(units, 7, 4);
  AddSpinning(units, kNoUnit, 5);
  EXPECT_THAT(All(units), ElementsAre(Pair(0, 3), Pair(7, 5), Pair(7 + kMaxSpinningUnits, 2)));
}

TEST(SpinningUnitsTest, LeavesOutWhatFindsNoPlace) {
  SpinningUnits units = {};
  for (uint32_t unit = 0; unit < kMaxSpinningUnits + 10; ++unit) AddSpinning(units, unit, 1);
  EXPECT_EQ(All(units).size(), kMaxSpinningUnits);
  AddSpinning(units, 3, 1);
  EXPECT_EQ(All(units)[3], 2u);
}

}  // namespace
}  // namespace coz::shared
