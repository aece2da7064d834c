#include "coz/sync/delay_ledger.h"

#include <gtest/gtest.h>

#include <memory>

namespace coz {
namespace {

class DelayLedgerTest : public ::testing::Test {
 protected:
  void Impose(ThreadLedger& thread, uint64_t delay_ns) { ImposeDelay(*global_, thread, delay_ns); }
  uint64_t Owed(ThreadLedger& thread) { return OwedDelay(*global_, thread); }
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

// A sample of the waiter in the middle of its wait: its virtual time falls behind by what it imposes.

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

TEST_F(DelayLedgerTest, WakeTableKeepsTheLastWakerOfAnObject) {
  int object = 0;
  EXPECT_EQ(global_->wakes.Find(&object), 0u);
  global_->wakes.Publish(&object, 7);
  global_->wakes.Publish(&object, 9);
  EXPECT_EQ(global_->wakes.Find(&object), 9u);
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

// A thread that meets others every `stretch_ns`, and whose samples are all in the selected unit.
void MakeEager(ThreadLedger& thread, uint64_t stretch_ns, uint64_t* now_ns) {
  thread.wait_ended_ns = *now_ns;
  for (int i = 0; i < 40; ++i) {
    *now_ns += stretch_ns;
    const Wait wait = BeginWait(thread, *now_ns);
    EndWaitCreditedBy(thread, wait, ++*now_ns, 0);
    NoteSample(thread, true);
  }
}

constexpr uint64_t kPeriodNs = 1000000;
constexpr uint64_t kForever = ~uint64_t{0};

TEST_F(DelayLedgerTest, SampleOfAThreadThatSeldomMeetsOthersImposesAtOnce) {
  uint64_t now_ns = 1;
  MakeEager(sampled_, 4 * kPeriodNs, &now_ns);
  ImposeSample(*global_, sampled_, 500000, kPeriodNs, now_ns, kForever);
  EXPECT_FALSE(HoldsDelay(sampled_));
  EXPECT_EQ(global_->global_delay_ns, 500000u);
}

TEST_F(DelayLedgerTest, SampleOfAThreadThatIsMostlyElsewhereImposesAtOnce) {
  uint64_t now_ns = 1;
  MakeEager(sampled_, kPeriodNs / 2, &now_ns);
  for (int i = 0; i < 40; ++i) NoteSample(sampled_, i % 2 == 0);
  ImposeSample(*global_, sampled_, 500000, kPeriodNs, now_ns, kForever);
  EXPECT_EQ(global_->global_delay_ns, 500000u);
}

TEST_F(DelayLedgerTest, SampleOfAThreadThatOftenMeetsOthersIsReleasedAsItRuns) {
  uint64_t now_ns = 1;
  MakeEager(sampled_, kPeriodNs / 10, &now_ns);
  ImposeSample(*global_, sampled_, 500000, kPeriodNs, now_ns, kForever);
  EXPECT_EQ(global_->global_delay_ns, 0u);
  ReleaseHeldDelay(*global_, sampled_, now_ns + kPeriodNs / 10);
  EXPECT_EQ(global_->global_delay_ns, 50000u);
  ResumeHold(sampled_, now_ns + kPeriodNs);  // it waited meanwhile
  ReleaseHeldDelay(*global_, sampled_, now_ns + kPeriodNs + kPeriodNs / 10);
  EXPECT_EQ(global_->global_delay_ns, 100000u);
  EXPECT_EQ(sampled_.local_delay_ns, 100000u);
  // The next sample finds the rest due, and holds what it stands for itself.
  ImposeSample(*global_, sampled_, 500000, kPeriodNs, now_ns + 2 * kPeriodNs, kForever);
  EXPECT_EQ(global_->global_delay_ns, 500000u);
  ReleaseHeldDelay(*global_, sampled_, now_ns + 4 * kPeriodNs);
  EXPECT_EQ(global_->global_delay_ns, 1000000u);
  EXPECT_FALSE(HoldsDelay(sampled_));
}

TEST_F(DelayLedgerTest, LittleHeldDelayIsKeptUntilItIsWorthAPause) {
  uint64_t now_ns = 1;
  MakeEager(sampled_, kPeriodNs / 10, &now_ns);
  ImposeSample(*global_, sampled_, 500000, kPeriodNs, now_ns, kForever);
  ReleaseHeldDelay(*global_, sampled_, now_ns + 2 * kLeastReleaseNs - 2);
  EXPECT_EQ(global_->global_delay_ns, 0u);
  ReleaseHeldDelay(*global_, sampled_, now_ns + 2 * kLeastReleaseNs);
  EXPECT_EQ(global_->global_delay_ns, kLeastReleaseNs);
}

TEST_F(DelayLedgerTest, HeldDelayIsDroppedWhenTheExperimentIsOver) {
  uint64_t now_ns = 1;
  MakeEager(sampled_, kPeriodNs / 10, &now_ns);
  ImposeSample(*global_, sampled_, 500000, kPeriodNs, now_ns, now_ns + kPeriodNs / 2);
  ReleaseHeldDelay(*global_, sampled_, now_ns + kPeriodNs * 6 / 10);
  ReleaseAllHeldDelay(*global_, sampled_, now_ns + kPeriodNs);
  EXPECT_EQ(global_->global_delay_ns, 0u);
  EXPECT_FALSE(HoldsDelay(sampled_));
}

TEST_F(DelayLedgerTest, SelectedShareReachesBothEnds) {
  for (int i = 0; i < 100; ++i) NoteSample(sampled_, true);
  EXPECT_EQ(sampled_.selected_share, kWholeShare);
  for (int i = 0; i < 100; ++i) NoteSample(sampled_, false);
  EXPECT_EQ(sampled_.selected_share, 0u);
}

}  // namespace
}  // namespace coz
