#include "coz/sync/delay/delay_ledger.h"

#include <gtest/gtest.h>

#include <memory>

#include "coz/sync/delay/accrual.h"

namespace coz::delay {
namespace {

class DelayLedgerTest : public ::testing::Test {
 protected:
  void Impose(ThreadLedger& thread, uint64_t delay_ns) { ImposeDelay(*global_, thread, delay_ns); }
  uint64_t Owed(ThreadLedger& thread) { return OwedDelay(*global_, thread); }
  // What a sample does, after `waiter_` has run for `ran_ns`.
  void Earn(uint64_t ran_ns) {
    waiter_.spinning.Earn(ran_ns);
    CreditSpinning(*global_, waiter_);
  }
  void Pay(ThreadLedger& thread, uint64_t excess_ns = 0) {
    const uint64_t owed_ns = Owed(thread);
    RecordPause(thread, owed_ns, owed_ns + excess_ns);
  }
  void EndCredited(ThreadLedger& thread, const Wait& wait, uint64_t now_ns,
                   uint64_t waker_local_delay_ns = 0) {
    EndWaitCredited(*global_, thread, wait, now_ns, waker_local_delay_ns);
  }

  std::unique_ptr<GlobalLedger> global_ = std::make_unique<GlobalLedger>();
  ThreadLedger sampled_ = {};  // its samples fall into the selected unit
  ThreadLedger waker_ = {};
  ThreadLedger waiter_ = {};
};

TEST_F(DelayLedgerTest, ImposedDelayIsOwedByEveryOtherThread) {
  Impose(sampled_, 100);
  EXPECT_EQ(global_->global_delay_ns, 100u);
  EXPECT_EQ(sampled_.local_delay_ns, 100u);
  EXPECT_EQ(sampled_.imposed_ns, 100u);
  EXPECT_EQ(Owed(sampled_), 0u);
  EXPECT_EQ(Owed(waiter_), 100u);
  EXPECT_TRUE(IsBehind(*global_, waiter_));
  EXPECT_FALSE(IsBehind(*global_, sampled_));
}

TEST_F(DelayLedgerTest, InAControlWhoImposesOwesItToo) {
  Impose(waiter_, 30);
  global_->delays_everybody = 1;
  Impose(sampled_, 100);
  Impose(waker_, 100);
  EXPECT_EQ(global_->global_delay_ns, 230u);
  EXPECT_EQ(Owed(sampled_), 230u);
  EXPECT_EQ(Owed(waker_), 230u);
  EXPECT_EQ(Owed(waiter_), 200u);
  EXPECT_EQ(sampled_.imposed_ns, 0u);
  global_->delays_everybody = 0;
  Impose(sampled_, 100);
  EXPECT_EQ(global_->global_delay_ns, 230u);
  EXPECT_EQ(Owed(sampled_), 130u);
}

TEST_F(DelayLedgerTest, DelayOfADayIsNone) {
  Impose(sampled_, 100);
  Impose(sampled_, uint64_t{0} - 50);
  EXPECT_EQ(global_->global_delay_ns, 100u);
  EXPECT_EQ(sampled_.local_delay_ns, 100u);
  EXPECT_EQ(Owed(waiter_), 100u);
}

TEST_F(DelayLedgerTest, ThreadThatIsBehindCatchesUpByImposing) {
  Impose(sampled_, 100);
  Impose(waiter_, 30);
  EXPECT_EQ(Owed(waiter_), 70u);
  EXPECT_EQ(Owed(sampled_), 0u);
}

TEST_F(DelayLedgerTest, PauseServesDebtAndKeepsItsExcess) {
  Impose(sampled_, 100);
  RecordPause(waiter_, Owed(waiter_), 115);
  EXPECT_EQ(Owed(waiter_), 0u);
  EXPECT_EQ(waiter_.asked_ns, 100u);
  EXPECT_EQ(waiter_.paused_ns, 115u);
  EXPECT_EQ(waiter_.pauses, 1u);
  Impose(sampled_, 100);
  EXPECT_EQ(Owed(waiter_), 85u);
}

TEST_F(DelayLedgerTest, ShortPauseLeavesTheRestOwed) {
  Impose(sampled_, 100);
  RecordPause(waiter_, Owed(waiter_), 60);
  EXPECT_EQ(Owed(waiter_), 40u);
}

TEST_F(DelayLedgerTest, WaiterThatBlockedLongEnoughTakesOverTheWakersTime) {
  const Wait wait = BeginWait(waiter_, 1000);
  EXPECT_EQ(waiter_.blocked, 1u);
  Impose(sampled_, 100);
  Pay(waker_);
  EndCredited(waiter_, wait, 1500);
  EXPECT_EQ(waiter_.blocked, 0u);
  EXPECT_EQ(waiter_.local_delay_ns, 100u);
  EXPECT_EQ(waiter_.credited_ns, 100u);
  EXPECT_EQ(Owed(waiter_), 0u);
}

TEST_F(DelayLedgerTest, CreditIsAtMostTheTimeBlocked) {
  const Wait wait = BeginWait(waiter_, 1000);
  Impose(sampled_, 100);
  EndCredited(waiter_, wait, 1030);
  EXPECT_EQ(waiter_.credited_ns, 30u);
  EXPECT_EQ(Owed(waiter_), 70u);
}

TEST_F(DelayLedgerTest, DebtFromBeforeTheWaitIsServedByTimeBlocked) {
  Impose(sampled_, 100);
  const Wait wait = BeginWait(waiter_, 1000);
  EndCredited(waiter_, wait, 1060);
  EXPECT_EQ(Owed(waiter_), 40u);
}

TEST_F(DelayLedgerTest, WaitThatTookNoTimeCreditsNothing) {
  Impose(sampled_, 100);
  const Wait wait = BeginWait(waiter_, 1000);
  EndCredited(waiter_, wait, 1000);
  EXPECT_EQ(waiter_.credited_ns, 0u);
  EXPECT_EQ(Owed(waiter_), 100u);
}

TEST_F(DelayLedgerTest, WaiterTakesOverTheWakersExcess) {
  const Wait wait = BeginWait(waiter_, 1000);
  Impose(sampled_, 100);
  Pay(waker_, 25);
  EndCredited(waiter_, wait, 1500, waker_.local_delay_ns);
  EXPECT_EQ(waiter_.local_delay_ns, 125u);
}

TEST_F(DelayLedgerTest, ExcessIsAbsorbedByAWait) {
  Impose(sampled_, 100);
  Pay(waiter_, 40);
  const Wait wait = BeginWait(waiter_, 1000);
  EndCredited(waiter_, wait, 1500);
  EXPECT_EQ(waiter_.local_delay_ns, 100u);
  EXPECT_EQ(waiter_.credited_ns, 0u);
}

TEST_F(DelayLedgerTest, ExcessIsKeptByAWaitThatWasOverBeforeItBegan) {
  Impose(sampled_, 100);
  Pay(waiter_, 40);
  const Wait wait = BeginWait(waiter_, 1000);
  EndWaitCredited(*global_, waiter_, wait, 1003, 0, /*has_blocked=*/false);
  EXPECT_EQ(waiter_.blocked, 0u);
  EXPECT_EQ(waiter_.local_delay_ns, 140u);
  EXPECT_EQ(waiter_.credited_ns, 0u);
}

TEST_F(DelayLedgerTest, VirtualTimeIsTheLaterOfOwnAndWakers) {
  for (uint64_t debt = 0; debt <= 60; debt += 20) {
    for (uint64_t blocked = 0; blocked <= 100; blocked += 10) {
      for (uint64_t waker_local = 60; waker_local <= 120; waker_local += 20) {
        GlobalLedger& global = *global_;
        global.global_delay_ns = 60;
        ThreadLedger thread = {};
        thread.local_delay_ns = 60 - debt;
        const uint64_t start = 1000;
        const uint64_t own_virtual = start - thread.local_delay_ns;
        const uint64_t wakers_virtual = start + blocked - waker_local;
        const Wait wait = BeginWait(thread, start);
        EndWaitCredited(global, thread, wait, start + blocked, waker_local);
        EXPECT_EQ(start + blocked - thread.local_delay_ns, std::max(own_virtual, wakers_virtual))
            << "debt " << debt << ", blocked " << blocked << ", waker's delay " << waker_local;
      }
    }
  }
}

TEST_F(DelayLedgerTest, UnpaidGlobalDelayIsNotTakenOverFromAWakerKnownExactly) {
  const Wait wait = BeginWait(waiter_, 1000);
  Impose(sampled_, 100);
  Pay(waker_);
  const uint64_t at_the_wake = waker_.local_delay_ns;
  Impose(sampled_, 50);
  EndWaitCreditedBy(waiter_, wait, 1500, at_the_wake);
  EXPECT_EQ(Owed(waiter_), 50u);
}

TEST_F(DelayLedgerTest, UncreditedWaitLeavesTheDebt) {
  BeginWait(waiter_, 1000);
  Impose(sampled_, 100);
  EndWaitUncredited(waiter_);
  EXPECT_EQ(waiter_.blocked, 0u);
  EXPECT_EQ(waiter_.credited_ns, 0u);
  EXPECT_EQ(Owed(waiter_), 100u);
}

TEST_F(DelayLedgerTest, DebtBelowTheFloorIsForgiven) {
  Impose(sampled_, 100);
  global_->forgiven_below_ns = 70;
  EXPECT_EQ(Owed(waiter_), 30u);
  EXPECT_EQ(waiter_.forgiven_ns, 70u);
  EXPECT_EQ(Owed(waiter_), 30u);
  EXPECT_EQ(waiter_.forgiven_ns, 70u);
}

TEST_F(DelayLedgerTest, FloorAboveWhatIsRequiredForgivesOnlyWhatIsRequired) {
  Impose(sampled_, 100);
  global_->forgiven_below_ns = 500;
  EXPECT_EQ(Owed(waiter_), 0u);
  EXPECT_EQ(waiter_.local_delay_ns, 100u);
}

TEST_F(DelayLedgerTest, FloorLeavesExcessAlone) {
  Impose(sampled_, 100);
  Pay(waiter_, 40);
  global_->forgiven_below_ns = 100;
  EXPECT_EQ(Owed(waiter_), 0u);
  EXPECT_EQ(waiter_.local_delay_ns, 140u);
  EXPECT_EQ(waiter_.forgiven_ns, 0u);
}

// The waiter is sampled in the middle of its wait. Its virtual time falls behind by the delay that
// it imposes.

TEST_F(DelayLedgerTest, DelayImposedDuringAShortWaitIsKept) {
  const Wait wait = BeginWait(waiter_, 1000);
  Impose(waiter_, 50);
  EndCredited(waiter_, wait, 1010);
  EXPECT_EQ(waiter_.local_delay_ns, 50u);
  EXPECT_EQ(Owed(waiter_), 0u);
}

TEST_F(DelayLedgerTest, DelayImposedDuringAWaitIsNotServedByItTwice) {
  Impose(sampled_, 100);
  const Wait wait = BeginWait(waiter_, 1000);
  Impose(waiter_, 50);
  EndCredited(waiter_, wait, 1010);
  EXPECT_EQ(Owed(waiter_), 40u);  // 100 less its own 50 and the 10 blocked
}

TEST_F(DelayLedgerTest, DebtPaidByAHandlerDuringAWaitIsTimeBlockedAndCountsOnce) {
  Impose(sampled_, 100);
  const Wait wait = BeginWait(waiter_, 1000);
  Pay(waiter_);  // 100 ns of the 130
  Impose(sampled_, 100);
  EndCredited(waiter_, wait, 1130);
  EXPECT_EQ(waiter_.local_delay_ns, 130u);
  EXPECT_EQ(Owed(waiter_), 70u);
}

TEST_F(DelayLedgerTest, DelayImposedBetweenDebtAndPauseIsKept) {
  Impose(sampled_, 100);
  const uint64_t owed_ns = Owed(waiter_);
  Impose(waiter_, 50);
  RecordPause(waiter_, owed_ns, owed_ns);
  EXPECT_EQ(waiter_.local_delay_ns, 150u);
  EXPECT_EQ(Owed(waiter_), 0u);
}

TEST_F(DelayLedgerTest, OwedDelayIsCreditedForTheShareOfTimeThatAThreadSpins) {
  Impose(sampled_, 1000);
  for (int i = 0; i < 100; ++i) waiter_.spinning.Note(false);
  Earn(1000);
  EXPECT_EQ(Owed(waiter_), 1000u);

  for (int i = 0; i < 100; ++i) waiter_.spinning.Note(i % 4 == 3);
  Earn(1000);
  EXPECT_NEAR(static_cast<double>(waiter_.credited_ns), 250, 50);
  EXPECT_EQ(Owed(waiter_), 1000 - waiter_.credited_ns);

  for (int i = 0; i < 100; ++i) waiter_.spinning.Note(true);
  Earn(100000);
  EXPECT_EQ(waiter_.local_delay_ns, global_->global_delay_ns) << "not more than it owes";
  EXPECT_EQ(waiter_.paused_ns, 0u);
}

// The spinning thread goes on, and reaches a call before its next sample.
TEST_F(DelayLedgerTest, WhatIsOwedSoonAfterSpinningIsCreditedOnce) {
  for (int i = 0; i < 1000; ++i) waiter_.spinning.Note(true);
  for (int i = 0; i < 10; ++i) Earn(1000);
  Impose(sampled_, 10000);
  CreditSpinning(*global_, waiter_);
  EXPECT_NEAR(static_cast<double>(waiter_.credited_ns), 2000, 10) << "of the last two samples";
  CreditSpinning(*global_, waiter_);
  EXPECT_NEAR(static_cast<double>(waiter_.credited_ns), 2000, 10);
}

TEST_F(DelayLedgerTest, SpinProbesGoOnUntilManyHaveBeenInVain) {
  waiter_.spinning.BeginProbes();
  for (uint32_t i = 1; i < SpinShare::kProbesInVain; ++i)
    ASSERT_TRUE(waiter_.spinning.NoteProbe(false)) << i;
  EXPECT_TRUE(waiter_.spinning.NoteProbe(true));
  for (uint32_t i = 1; i < SpinShare::kProbesInVain; ++i)
    ASSERT_TRUE(waiter_.spinning.NoteProbe(false)) << i;
  EXPECT_FALSE(waiter_.spinning.NoteProbe(false));
  Impose(sampled_, 1000);
  Earn(1000);
  EXPECT_LT(waiter_.credited_ns, 2u) << "that it once spun is forgotten";
}

TEST_F(DelayLedgerTest, WakeTableKeepsTheLastWakerOfAnObject) {
  int object = 0;
  EXPECT_EQ(global_->wakes.Find(&object), 0u);
  global_->wakes.Publish(&object, 7);
  global_->wakes.Publish(&object, 9);
  EXPECT_EQ(global_->wakes.Find(&object), 9u);
}

TEST_F(DelayLedgerTest, WakeTableNeverGivesAnotherObjectsWaker) {
  constexpr uint32_t kObjects = 16 * WakeTable::kPlaces;
  const auto object = [](uint32_t i) { return reinterpret_cast<const void*>(uintptr_t{i} * 4); };
  uint32_t found = 0;
  for (uint32_t i = 1; i <= kObjects; ++i) {
    EXPECT_EQ(global_->wakes.Find(object(i)), 0u);
    global_->wakes.Publish(object(i), i);
    EXPECT_EQ(global_->wakes.Find(object(i)), i);
  }
  for (uint32_t i = 1; i <= kObjects; ++i) {
    const uint64_t local_ns = global_->wakes.Find(object(i));
    EXPECT_TRUE(local_ns == 0 || local_ns == i) << i;
    if (local_ns != 0) ++found;
  }
  EXPECT_EQ(found, 2 * WakeTable::kPlaces) << "the last two of each place";
}

TEST_F(DelayLedgerTest, DelaysThatThreadsImposeOnEachOtherCancel) {
  Impose(sampled_, 100);
  Impose(waiter_, 100);
  EXPECT_EQ(global_->global_delay_ns.load(), 100u);
  EXPECT_EQ(OwedDelay(*global_, sampled_), 0u);
  EXPECT_EQ(OwedDelay(*global_, waiter_), 0u);
  Impose(waiter_, 30);
  EXPECT_EQ(OwedDelay(*global_, sampled_), 30u);
  EXPECT_EQ(waiter_.imposed_ns.load(), 130u);
}

TEST_F(DelayLedgerTest, ExcessOfAThreadIsNotRequiredOfOthers) {
  RecordPause(sampled_, 0, 40);
  Impose(sampled_, 100);
  EXPECT_EQ(OwedDelay(*global_, waiter_), 100u);
  EXPECT_EQ(sampled_.local_delay_ns.load(), 140u);
}

TEST_F(DelayLedgerTest, AThreadThatIsAheadOfWhatItWaitedForFallsBack) {
  Impose(sampled_, 300);
  GoOnAfter(*global_, sampled_, 900, 1000);  // its own virtual time is 700
  EXPECT_EQ(sampled_.local_delay_ns, 100u);
  EXPECT_EQ(OwedDelay(*global_, sampled_), 200u);
  GoOnAfter(*global_, sampled_, 500, 1000);  // long ago
  EXPECT_EQ(sampled_.local_delay_ns, 100u);
}

}  // namespace
}  // namespace coz::delay
