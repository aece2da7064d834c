#include "coz/shared/charged_pairs.h"

#include "coz/base/clock.h"
#include "coz/sync/delay/delay_ledger.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::shared {
namespace {

class ChargedPairsTest : public ::testing::Test {
 protected:
  ChargedPairsTest() : control_(testing::ZeroedControl()) {
    control_->threads_high_water = 2;
    control_->charged_pairs[0].begin = 0;
    control_->charged_pairs[0].end = 1;
  }
  const ChargedPair& pair() const { return control_->charged_pairs[0]; }
  void Charge(uint64_t rise_ns) {
    ChargeBudget budget;
    ChargePairs(*control_, rise_ns, &budget);
  }

  testing::OwnedControl control_;
};

TEST_F(ChargedPairsTest, NumberUnderWayIsThatOfAllCounters) {
  control_->charged_pairs_used = 1;
  control_->points[0].shared.count = 3;
  control_->threads[0].visits[0] = 2;
  control_->threads[1].visits[1] = 4;
  Charge(100);
  EXPECT_EQ(pair().delay_ns, 100u);
  EXPECT_EQ(pair().delay_in_flight_ns, 100u);
  control_->threads[1].visits[1] = 5;
  Charge(50);
  EXPECT_EQ(pair().delay_ns, 150u);
  EXPECT_EQ(pair().delay_in_flight_ns, 100u);
}

TEST_F(ChargedPairsTest, PairsThatAreNotAskedForAreLeftAlone) {
  control_->points[0].shared.count = 3;
  Charge(100);
  EXPECT_EQ(pair().delay_ns, 0u);
}

TEST_F(ChargedPairsTest, PlaceThatCannotBeReadIsNotTakenForUnvisited) {
  control_->charged_pairs_used = 1;
  control_->charged_pairs[0].end = kAtPlaces;
  control_->points[0].shared.count = 3;
  Charge(100);
  EXPECT_EQ(pair().delay_ns, 0u);
}

TEST_F(ChargedPairsTest, WhoHasComeBeforeHisBeginWasCountedIsTakenOff) {
  control_->charged_pairs_used = 1;
  control_->points[1].shared.count = 1;
  Charge(100);
  EXPECT_EQ(pair().delay_ns, 100u);
  EXPECT_EQ(pair().delay_in_flight_ns, ~uint64_t{0} - 99);
}

TEST_F(ChargedPairsTest, ManyThreadsAreNotLookedAtInAHandler) {
  control_->charged_pairs_used = 1;
  control_->threads_high_water = 1000;
  Charge(100);
  EXPECT_EQ(pair().delay_ns, 0u);
}

TEST_F(ChargedPairsTest, DelayThatLeavesNoTimeOutIsNotNoted) {
  control_->charged_pairs_used = 1;
  control_->points[0].shared.count = 1;
  Charge(0);
  EXPECT_EQ(pair().delay_ns, 0u);
}

TEST_F(ChargedPairsTest, NothingIsReadAsLongAsReadingHasCostTooMuch) {
  control_->charged_pairs_used = 1;
  control_->points[0].shared.count = 1;
  ChargeBudget budget;
  ChargePairs(*control_, 100, &budget);
  EXPECT_EQ(pair().delay_ns, 100u);
  budget.Spend(MonotonicNowNs(), kNsPerSecond);
  ChargePairs(*control_, 100, &budget);
  EXPECT_EQ(pair().delay_ns, 100u);
}

TEST(ChargeBudgetTest, ReadingTakesItsPartAtMost) {
  ChargeBudget budget;
  EXPECT_TRUE(budget.Allows(1000));
  budget.Spend(1000, 10);
  EXPECT_FALSE(budget.Allows(1000 + 10 * ChargeBudget::kPart - 1));
  EXPECT_TRUE(budget.Allows(1000 + 10 * ChargeBudget::kPart));
}

// Two threads are in the selected unit. Only what one imposes beyond the other is
// left out.
TEST(RiseByTest, DelayOfAThreadThatIsBehindRaisesByTheRestOnly) {
  delay::GlobalLedger global = {};
  delay::ThreadLedger first = {};
  delay::ThreadLedger second = {};
  EXPECT_EQ(RiseBy(global, first, 100), 100u);
  delay::ImposeDelay(global, first, 100);
  EXPECT_EQ(RiseBy(global, second, 100), 0u);
  EXPECT_EQ(RiseBy(global, second, 130), 30u);
  delay::ImposeDelay(global, second, 130);
  EXPECT_EQ(global.global_delay_ns, 130u);
  // Excess is its own.
  first.local_delay_ns = 500;
  EXPECT_EQ(RiseBy(global, first, 100), 100u);
}

}  // namespace
}  // namespace coz::shared
