#include "coz/sync/delay/delay_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "coz/base/clock.h"

namespace coz::delay {
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

TEST_F(DelayLedgerTest, OwedDelayIsCreditedForTheShareOfTimeThatAThreadSpins) {
  Impose(sampled_, 1000);
  for (int i = 0; i < 100; ++i) NoteSpinning(waiter_, false);
  CreditSpinning(*global_, waiter_, 1000);
  EXPECT_EQ(Owed(waiter_), 1000u);

  for (int i = 0; i < 100; ++i) NoteSpinning(waiter_, i % 4 == 3);
  CreditSpinning(*global_, waiter_, 1000);
  EXPECT_NEAR(static_cast<double>(waiter_.credited_ns), 250, 50);
  EXPECT_EQ(Owed(waiter_), 1000 - waiter_.credited_ns);

  for (int i = 0; i < 100; ++i) NoteSpinning(waiter_, true);
  CreditSpinning(*global_, waiter_, 100000);
  EXPECT_EQ(waiter_.local_delay_ns, global_->global_delay_ns) << "not more than it owes";
  EXPECT_EQ(waiter_.paused_ns, 0u);
}

TEST_F(DelayLedgerTest, LooksGoOnUntilManyHaveBeenInVain) {
  BeginLooks(waiter_);
  for (uint32_t i = 1; i < kLooksInVain; ++i) ASSERT_TRUE(NoteLook(waiter_, false)) << i;
  EXPECT_TRUE(NoteLook(waiter_, true));
  for (uint32_t i = 1; i < kLooksInVain; ++i) ASSERT_TRUE(NoteLook(waiter_, false)) << i;
  EXPECT_FALSE(NoteLook(waiter_, false));
  Impose(sampled_, 1000);
  CreditSpinning(*global_, waiter_, 1000);
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

constexpr uint64_t kPeriodNs = 1000000;
constexpr uint64_t kForever = ~uint64_t{0};
constexpr uint32_t kUnit = 7;

// Places in a program.
const char kSites[2] = {};
const void* const kInside = &kSites[0];
const void* const kOutside = &kSites[1];

class StretchTest : public DelayLedgerTest {
 protected:
  StretchTest() { global_->selection = 1; }
  SampleDelay Half(uint64_t deadline_ns = kForever) const {
    return {SampledUnit::kSelected, period_ns_ / 2, period_ns_, deadline_ns, global_->selection};
  }
  void Run(uint64_t ns) { now_ns_ += ns; }
  void Call(const void* site) { EndStretch(*global_, sampled_, site, now_ns_); }
  void Sample(SampledUnit unit) {
    ReleaseHeldDelay(*global_, sampled_, now_ns_);
    CountSample(sampled_, unit, kUnit);
    if (unit == SampledUnit::kSelected) ImposeSample(*global_, sampled_, Half(), now_ns_);
  }
  // Samples in turn with stretches of `inside_ns` in the unit, and as long outside, until both kinds are known.
  void LearnStretches(uint64_t inside_ns) {
    for (int i = 0; i < 40; ++i) {
      Run(inside_ns / 2);
      Sample(SampledUnit::kSelected);
      Run(inside_ns - inside_ns / 2);
      Call(kOutside);
      Run(inside_ns);
      Sample(SampledUnit::kOther);
      Call(kInside);
    }
  }
  uint64_t global_ns() const { return global_->global_delay_ns; }

  uint64_t now_ns_ = 1;
  uint64_t period_ns_ = kPeriodNs;
};

TEST_F(StretchTest, SamplesOfAnUnknownKindImposeAtOnce) {
  Sample(SampledUnit::kSelected);
  EXPECT_EQ(global_ns(), kPeriodNs / 2);
  EXPECT_EQ(sampled_.local_delay_ns, kPeriodNs / 2);
}

TEST_F(StretchTest, KnownStretchesImposeByTheirLength) {
  LearnStretches(kPeriodNs / 2);
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs / 10);
  Call(kOutside);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 20);
  Run(kPeriodNs);
  Call(kInside);  // nothing for the time outside
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 20);
  Run(kPeriodNs / 5);
  Call(kOutside);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 20 + kPeriodNs / 10);
  EXPECT_EQ(sampled_.local_delay_ns, global_ns());
}

TEST_F(StretchTest, PeriodsMayBeAsLongAsASecond) {
  period_ns_ = kNsPerSecond;
  LearnStretches(period_ns_ / 2);
  const uint64_t before_ns = global_ns();
  Run(2 * period_ns_);
  Call(kOutside);
  EXPECT_EQ(global_ns() - before_ns, period_ns_);
}

TEST_F(StretchTest, SamplesAndStretchesImposeAsMuchInTheLongRun) {
  LearnStretches(kPeriodNs / 2);
  const uint64_t before_ns = global_ns();
  // One sample for each period of running time, wherever it falls.
  uint64_t until_sample_ns = kPeriodNs / 3;
  uint64_t samples = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool inside = i % 2 == 0;
    uint64_t left_ns = kPeriodNs / 2;
    while (left_ns > 0) {
      const uint64_t step_ns = std::min(left_ns, until_sample_ns);
      Run(step_ns);
      left_ns -= step_ns;
      until_sample_ns -= step_ns;
      if (until_sample_ns > 0) continue;
      until_sample_ns = kPeriodNs * 97 / 100;  // never in step with the stretches
      samples += inside ? 1 : 0;
      Sample(inside ? SampledUnit::kSelected : SampledUnit::kOther);
    }
    Call(inside ? kOutside : kInside);
  }
  EXPECT_NEAR(static_cast<double>(global_ns() - before_ns) / kPeriodNs,
              static_cast<double>(samples) / 2, static_cast<double>(samples) * 0.02);
}

TEST_F(StretchTest, TimeOfAWaitOrAPauseImposesNothing) {
  LearnStretches(kPeriodNs / 2);
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs / 10);
  const Wait wait = BeginWait(sampled_, now_ns_);
  Run(50 * kPeriodNs);
  ResumeHold(sampled_, now_ns_);
  EndWaitCredited(*global_, sampled_, wait, now_ns_, 0);
  Call(kOutside);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 20);
  Call(kInside);
  BeginWait(sampled_, now_ns_);
  Run(50 * kPeriodNs);
  EndWaitUncredited(sampled_);  // its end is not told
  Call(kOutside);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 20);
}

TEST_F(StretchTest, SamplesOfAWaitThatSpinsAreOfNoKind) {
  for (int i = 0; i < 40; ++i) {
    const Wait wait = BeginWait(sampled_, now_ns_);
    Run(kPeriodNs / 2);
    Sample(SampledUnit::kOther);
    Run(kPeriodNs / 2);
    ResumeHold(sampled_, now_ns_);
    EndWaitCredited(*global_, sampled_, wait, now_ns_, 0);
    Run(kPeriodNs / 2);
    Sample(SampledUnit::kSelected);
    Run(kPeriodNs / 2);
    Call(kInside);
  }
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs / 4);
  Call(kInside);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 8);
}

TEST_F(StretchTest, ASampleInAWaitImposesAtOnce) {
  LearnStretches(kPeriodNs / 2);
  BeginWait(sampled_, now_ns_);
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs);
  Sample(SampledUnit::kSelected);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 2);
}

TEST_F(StretchTest, NotMuchIsImposedAheadOfSamples) {
  LearnStretches(kPeriodNs / 2);
  const uint64_t before_ns = global_ns();
  for (int i = 0; i < 100; ++i) {  // it waits where nobody sees it: no samples come
    Run(kPeriodNs);
    Call(kInside);
  }
  // What two samples have left to impose, and 32 more.
  EXPECT_LE(global_ns() - before_ns, 34 * kPeriodNs / 2);
}

// The samples find the half of each round that is in the unit for twenty rounds, and then the other half for twenty, as where rounds take a
// fortieth less than a sampling period.
TEST_F(StretchTest, SamplesInStepImposeAsMuchInEachRound) {
  LearnStretches(kPeriodNs / 2);
  for (int i = 0; i < 400; ++i) {
    const bool finds_it = i / 20 % 2 == 0;
    const uint64_t before_ns = global_ns();
    Run(kPeriodNs / 4);
    if (finds_it) Sample(SampledUnit::kSelected);
    Run(kPeriodNs / 4);
    Call(kOutside);
    Run(kPeriodNs / 4);
    if (!finds_it) Sample(SampledUnit::kOther);
    Run(kPeriodNs / 4);
    Call(kInside);
    if (i < 40) continue;
    EXPECT_NEAR(static_cast<double>(global_ns() - before_ns), kPeriodNs / 4.0, kPeriodNs / 100.0)
        << i;
  }
}

TEST_F(StretchTest, LongStretchesImposeAtSamples) {
  for (int i = 0; i < 40; ++i) {
    Run(2 * kPeriodNs);
    Sample(SampledUnit::kSelected);
    Run(2 * kPeriodNs);
    Call(kInside);
  }
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs / 2);
  Sample(SampledUnit::kSelected);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 2);
}

TEST_F(StretchTest, StretchesOfWhichMuchIsElsewhereImposeAtSamples) {
  for (int i = 0; i < 80; ++i) {
    Run(kPeriodNs / 2);
    Sample(i % 2 == 0 ? SampledUnit::kSelected : SampledUnit::kOther);
    Run(kPeriodNs / 2);
    Call(kInside);
  }
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs / 2);
  Sample(SampledUnit::kSelected);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 2);
}

TEST_F(StretchTest, ShortStretchesImposeTheirShareOfIt) {
  for (int i = 0; i < 81; ++i) {
    Run(kPeriodNs / 20);
    Sample(i % 2 == 0 ? SampledUnit::kSelected : SampledUnit::kOther);
    Run(kPeriodNs / 20);
    Call(kInside);
  }
  const uint64_t before_ns = global_ns() + sampled_.stretches.pending_ns;
  Run(kPeriodNs / 10);
  Call(kInside);
  const uint64_t imposed_ns = global_ns() + sampled_.stretches.pending_ns - before_ns;
  EXPECT_NEAR(static_cast<double>(imposed_ns) / kPeriodNs, 0.1 * 0.5 * 0.5, 0.005);
}

TEST_F(StretchTest, LittleDelayIsKeptUntilItIsWorthAPause) {
  LearnStretches(kPeriodNs / 2);
  const uint64_t before_ns = global_ns();
  Run(2 * kLeastReleaseNs - 2);
  Call(kInside);
  EXPECT_EQ(global_ns(), before_ns);
  Run(2);
  Call(kInside);
  EXPECT_EQ(global_ns() - before_ns, kLeastReleaseNs);
}

TEST_F(StretchTest, NothingIsImposedAfterTheExperiment) {
  LearnStretches(kPeriodNs / 2);
  sampled_.stretches.Count(SampledUnit::kSelected, kUnit);
  ImposeSample(*global_, sampled_, Half(now_ns_ + kPeriodNs / 2), now_ns_);
  const uint64_t before_ns = global_ns();
  Run(kPeriodNs * 6 / 10);
  ReleaseHeldDelay(*global_, sampled_, now_ns_);
  ReleaseAllHeldDelay(*global_, sampled_, now_ns_);
  EXPECT_EQ(global_ns(), before_ns);
  EXPECT_FALSE(HoldsDelay(sampled_));
}

TEST_F(StretchTest, OthersCanAskWhatAStretchInProgressStandsFor) {
  LearnStretches(kPeriodNs / 2);
  Call(kInside);
  const uint64_t local_ns = sampled_.local_delay_ns;
  Run(kPeriodNs / 5);
  EXPECT_NEAR(LocalDelayAt(*global_, sampled_, now_ns_), local_ns + kPeriodNs / 10,
              kPeriodNs / 1000);
  EXPECT_EQ(sampled_.local_delay_ns, local_ns) << "asking imposes nothing";
  Call(kOutside);
  EXPECT_NEAR(sampled_.local_delay_ns, local_ns + kPeriodNs / 10, kPeriodNs / 1000);
  Run(kPeriodNs / 5);
  EXPECT_EQ(LocalDelayAt(*global_, sampled_, now_ns_), sampled_.local_delay_ns);
}

TEST_F(StretchTest, WhoWaitsOrIsOfAnotherExperimentStandsForNothing) {
  LearnStretches(kPeriodNs / 2);
  Call(kInside);
  Run(kPeriodNs / 5);
  ASSERT_GT(LocalDelayAt(*global_, sampled_, now_ns_), sampled_.local_delay_ns);
  global_->selection = 2;
  EXPECT_EQ(LocalDelayAt(*global_, sampled_, now_ns_), 0u);
  global_->selection = 1;
  BeginWait(sampled_, now_ns_);
  EXPECT_EQ(LocalDelayAt(*global_, sampled_, now_ns_ + kPeriodNs), 0u);
}

TEST_F(StretchTest, NothingIsImposedOnceSomethingElseIsSelected) {
  LearnStretches(kPeriodNs / 2);
  ASSERT_TRUE(HoldsDelay(sampled_));
  const uint64_t before_ns = global_ns();
  global_->selection = 2;
  Run(kPeriodNs / 2);
  Call(kOutside);
  EXPECT_EQ(global_ns(), before_ns);
  EXPECT_FALSE(HoldsDelay(sampled_));
}

TEST_F(StretchTest, TheNextSelectionStartsWithNothingAheadOfItsSamples) {
  LearnStretches(kPeriodNs / 2);
  sampled_.stretches.balance_ns = -int64_t{16} * kPeriodNs;
  global_->selection = 2;
  sampled_.stretches.Count(SampledUnit::kSelected, kUnit);
  ImposeSample(*global_, sampled_, Half(), now_ns_);
  EXPECT_EQ(sampled_.stretches.balance_ns, kPeriodNs / 2);
}

TEST_F(StretchTest, AtItsEndAThreadImposesWhatItsSamplesStandForBeyondItsStretches) {
  LearnStretches(kPeriodNs / 2);
  const int64_t balance_ns = sampled_.stretches.balance_ns;
  const uint64_t before_ns = global_ns();
  sampled_.stretches.balance_ns = 70000;
  ReleaseAllHeldDelay(*global_, sampled_, now_ns_);
  EXPECT_EQ(global_ns() - before_ns, 70000u) << balance_ns;
}

TEST_F(StretchTest, AnotherSelectionStartsToCountAnew) {
  LearnStretches(kPeriodNs / 2);
  sampled_.stretches.Count(SampledUnit::kSelected, kUnit + 1);
  const StretchKind* kind = sampled_.stretches.Find(kInside);
  ASSERT_NE(kind, nullptr);
  EXPECT_EQ(kind->samples, 1u);
  EXPECT_EQ(sampled_.stretches.Find(kOutside), nullptr);
}

TEST_F(StretchTest, AHandlerThatInterruptsLeavesStretchesAlone) {
  LearnStretches(kPeriodNs / 2);
  const uint64_t before_ns = global_ns();
  const int64_t balance_ns = sampled_.stretches.balance_ns;
  sampled_.stretches.busy = 1;
  Run(kPeriodNs / 2);
  Call(kOutside);
  EXPECT_EQ(global_ns(), before_ns);
  ImposeSample(*global_, sampled_, Half(), now_ns_);
  EXPECT_EQ(global_ns() - before_ns, kPeriodNs / 2);
  EXPECT_EQ(sampled_.stretches.balance_ns, balance_ns);
  sampled_.stretches.Count(SampledUnit::kSelected, kUnit + 1);
  EXPECT_NE(sampled_.stretches.Find(kOutside), nullptr) << "what it looks at is gone";
}

TEST_F(StretchTest, OfCallsInQuickSuccessionFewEndAStretch) {
  constexpr int kCalls = 10000;
  for (int i = 0; i < kCalls; ++i) CallEndsStretch(sampled_);
  sampled_.stretches.Count(SampledUnit::kSelected, kUnit);
  int ends = 0;
  for (int i = 0; i < kCalls; ++i) ends += CallEndsStretch(sampled_) ? 1 : 0;
  EXPECT_GT(ends, 32);
  EXPECT_LE(ends, 80);
}

TEST_F(DelayLedgerTest, AThreadThatIsAheadOfWhatItWaitedForFallsBack) {
  Impose(sampled_, 300);
  GoOnAfter(sampled_, 900, 1000);  // its own virtual time is 700
  EXPECT_EQ(sampled_.local_delay_ns, 100u);
  EXPECT_EQ(OwedDelay(*global_, sampled_), 200u);
  GoOnAfter(sampled_, 500, 1000);  // long ago
  EXPECT_EQ(sampled_.local_delay_ns, 100u);
}

}  // namespace
}  // namespace coz::delay
