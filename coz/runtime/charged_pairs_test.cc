#include "coz/runtime/charged_pairs.h"

#include <memory>

#include "gtest/gtest.h"

namespace coz {
namespace {

class ChargedPairsTest : public ::testing::Test {
 protected:
  ChargedPairsTest() : control_(std::make_unique<ControlBlock>()) {
    control_->threads_high_water = 2;
    control_->charged_pairs[0].begin = 0;
    control_->charged_pairs[0].end = 1;
  }
  const ChargedPair& pair() const { return control_->charged_pairs[0]; }

  std::unique_ptr<ControlBlock> control_;
};

TEST_F(ChargedPairsTest, NumberUnderWayIsThatOfAllCounters) {
  control_->charged_pairs_used = 1;
  control_->points[0].shared.count = 3;
  control_->threads[0].visits[0] = 2;
  control_->threads[1].visits[1] = 4;
  ChargePairs(*control_, 100);
  EXPECT_EQ(pair().delay_ns, 100u);
  EXPECT_EQ(pair().delay_in_flight_ns, 100u);
  control_->threads[1].visits[1] = 5;
  ChargePairs(*control_, 50);
  EXPECT_EQ(pair().delay_ns, 150u);
  EXPECT_EQ(pair().delay_in_flight_ns, 100u);
}

TEST_F(ChargedPairsTest, PairsThatAreNotAskedForAreLeftAlone) {
  control_->points[0].shared.count = 3;
  ChargePairs(*control_, 100);
  EXPECT_EQ(pair().delay_ns, 0u);
}

TEST_F(ChargedPairsTest, PlaceThatCannotBeReadIsNotTakenForUnvisited) {
  control_->charged_pairs_used = 1;
  control_->charged_pairs[0].end = kAtPlaces;
  control_->points[0].shared.count = 3;
  ChargePairs(*control_, 100);
  EXPECT_EQ(pair().delay_ns, 0u);
}

TEST_F(ChargedPairsTest, NobodyHasLeftBeforeHeCame) {
  control_->charged_pairs_used = 1;
  control_->points[1].shared.count = 1;
  ChargePairs(*control_, 100);
  EXPECT_EQ(pair().delay_ns, 0u);
}

TEST_F(ChargedPairsTest, ManyThreadsAreNotLookedAtInAHandler) {
  control_->charged_pairs_used = 1;
  control_->threads_high_water = 1000;
  ChargePairs(*control_, 100);
  EXPECT_EQ(pair().delay_ns, 0u);
}

}  // namespace
}  // namespace coz
