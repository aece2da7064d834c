// Debts of CPUs, and threads that go on from where these stand.
#include <memory>

#include "coz/sync/delay/accrual.h"
#include "coz/sync/delay/delay_ledger.h"
#include "gtest/gtest.h"

namespace coz::delay {
namespace {

constexpr uint64_t kUs = 1000;
constexpr uint32_t kHere = 0;
constexpr uint32_t kElsewhere = 1;

// Times are in us. `before_` has kHere at first, and `other_` has kElsewhere.
class CpuDebtTest : public ::testing::Test {
 protected:
  CpuDebtTest() {
    global_->cpus_of_crowd = 2;
    uint32_t number = 0;
    for (ThreadLedger* thread : {&thread_, &before_, &other_}) {
      thread->number = ++number;
      thread->cpu_share.Reset();
    }
    GoOn(before_, 1, kHere);
    GoOn(other_, 1, kElsewhere);
  }

  void GoOn(ThreadLedger& thread, uint64_t now_us, uint32_t cpu = kHere) {
    GoOnHere(*global_, thread, cpu, now_us * kUs);
  }
  void Leave(ThreadLedger& thread, uint64_t now_us) {
    LeaveCpu(*global_, thread, kHere, now_us * kUs);
  }
  // A thread that has waited gets kHere.
  void Take(ThreadLedger& thread, uint64_t now_us, uint64_t queued_us) {
    TakeCpu(*global_, thread, kHere, now_us * kUs, queued_us * kUs);
  }
  void Impose(ThreadLedger& thread, uint64_t us) { ImposeDelay(*global_, thread, us * kUs); }
  void Pay(ThreadLedger& thread, uint64_t us) {
    RecordPause(thread, us * kUs, us * kUs);
    PayForCpu(*global_, thread, us * kUs);
  }
  uint64_t OwedUs(ThreadLedger& thread) { return OwedDelay(*global_, thread) / kUs; }

  const std::unique_ptr<GlobalLedger> global_{new GlobalLedger()};
  const std::unique_ptr<ThreadLedger[]> threads_{new ThreadLedger[3]()};
  ThreadLedger& thread_ = threads_[0];
  ThreadLedger& before_ = threads_[1];
  ThreadLedger& other_ = threads_[2];
};

TEST_F(CpuDebtTest, WhoHasACpuOwesWhatOthersImpose) {
  Impose(other_, 300);
  GoOn(before_, 400);
  EXPECT_EQ(OwedUs(before_), 300u);
  EXPECT_EQ(OwedUs(other_), 0u);
}

TEST_F(CpuDebtTest, WhatACpuHasPaidTheNextThreadDoesNotOwe) {
  Impose(other_, 300);
  Pay(before_, 300);
  EXPECT_EQ(OwedUs(thread_), 300u);
  GoOn(thread_, 400);
  EXPECT_EQ(OwedUs(thread_), 0u);
  EXPECT_EQ(thread_.credited_ns, 300 * kUs);
}

// The thread before was preempted before it could pay.
TEST_F(CpuDebtTest, TheNextThreadTakesTheDebtOver) {
  thread_.local_delay_ns = 300 * kUs;  // it has waited until now
  Impose(other_, 300);
  Pay(before_, 100);
  GoOn(thread_, 400);
  EXPECT_EQ(OwedUs(thread_), 200u);
}

TEST_F(CpuDebtTest, WhoComesBackToItsCpuOwesNoMoreThanIsLeftThere) {
  Impose(other_, 300);
  GoOn(thread_, 400);
  Pay(thread_, 250);
  GoOn(before_, 700);
  EXPECT_EQ(OwedUs(before_), 50u);
}

// Its own note is still on the CPU that it comes back to.
TEST_F(CpuDebtTest, WhoComesBackFromAnotherCpuLeavesThatOnesDebtThere) {
  Impose(before_, 300);
  GoOn(before_, 400, kElsewhere);
  EXPECT_EQ(OwedUs(before_), 300u);
  GoOn(before_, 401);
  EXPECT_EQ(OwedUs(before_), 0u);
  EXPECT_EQ(global_->cpus.local_delay_ns(kHere), 300 * kUs);
  EXPECT_EQ(global_->cpus.local_delay_ns(kElsewhere), 0u);
}

TEST_F(CpuDebtTest, IsPaidOnceHoweverOftenThreadsTakeTurns) {
  uint64_t paid_us = 0;
  for (uint64_t turn = 1; turn <= 40; ++turn) {
    ThreadLedger& running = turn % 2 == 0 ? before_ : thread_;
    GoOn(running, 100 * turn);
    Impose(other_, 30);
    if (turn % 4 != 0) continue;
    paid_us += OwedUs(running);
    Pay(running, OwedUs(running));
  }
  EXPECT_EQ(paid_us, 40u * 30);
}

TEST_F(CpuDebtTest, AnIdleCpuPaysByIdling) {
  thread_.local_delay_ns = 300 * kUs;
  Impose(other_, 300);
  Leave(before_, 400);
  Take(thread_, 500, 0);
  GoOn(thread_, 501);
  EXPECT_EQ(OwedUs(thread_), 200u) << "idle for 100 us";
}

TEST_F(CpuDebtTest, ACpuWithAQueueIsNotIdle) {
  thread_.local_delay_ns = 300 * kUs;
  Impose(other_, 300);
  Leave(before_, 400);
  Take(thread_, 500, 60);
  GoOn(thread_, 501);
  EXPECT_EQ(OwedUs(thread_), 260u) << "idle for 40 us, until it was woken";
}

TEST_F(CpuDebtTest, WhoCouldRunAllTheTimeFindsNoIdleCpu) {
  thread_.local_delay_ns = 300 * kUs;
  Impose(other_, 300);
  Leave(before_, 400);
  GoOn(thread_, 1000);
  EXPECT_EQ(OwedUs(thread_), 300u);
}

TEST_F(CpuDebtTest, WokenThreadThatWasQueuedOwesNothingItself) {
  Impose(other_, 300);
  Pay(before_, 300);
  Take(thread_, 500, 60);
  GoOnFromCpu(*global_, thread_);
  EXPECT_EQ(OwedUs(thread_), 0u);
}

// As at the end of a sleep.
TEST_F(CpuDebtTest, WhatAThreadOwesItselfItOwesOnAnyCpu) {
  Impose(other_, 300);
  Pay(before_, 300);
  Take(thread_, 500, 60);
  GoOn(thread_, 501);
  EXPECT_EQ(OwedUs(thread_), 300u);
  GoOn(before_, 600);
  EXPECT_EQ(OwedUs(before_), 0u) << "the CPU does not owe it";
}

TEST_F(CpuDebtTest, WhoSleepsForADebtTakesItAlong) {
  Impose(other_, 300);
  LeaveCpuWithDebt(*global_, before_, kHere, 400 * kUs);
  GoOn(thread_, 500);
  EXPECT_EQ(OwedUs(thread_), 0u);
  EXPECT_EQ(OwedUs(before_), 300u);
}

TEST_F(CpuDebtTest, OldNotesTellNothing) {
  thread_.local_delay_ns = 300 * kUs;
  Impose(other_, 300);
  GoOn(thread_, 2 + CpuTable::kLastsNs / kUs);
  EXPECT_EQ(OwedUs(thread_), 0u);
}

TEST_F(CpuDebtTest, NobodyPaysForACpuThatAnotherThreadHas) {
  Impose(other_, 300);
  GoOn(thread_, 400);
  EXPECT_FALSE(HasKeptCpu(*global_, before_));
  Pay(before_, 300);
  EXPECT_EQ(global_->cpus.local_delay_ns(kHere), 0u);
  EXPECT_TRUE(HasKeptCpu(*global_, thread_));
  EXPECT_EQ(OwedUs(thread_), 300u);
}

TEST_F(CpuDebtTest, WhoStillHasTheCpuRenewsItsNote) {
  thread_.local_delay_ns = 300 * kUs;
  Impose(other_, 300);
  GoOn(before_, CpuTable::kLastsNs / kUs);
  GoOn(thread_, 2 + CpuTable::kLastsNs / kUs);
  EXPECT_EQ(OwedUs(thread_), 300u);
}

// `before_` loses the CPU to one that waits soon, and runs again behind it.
TEST_F(CpuDebtTest, ACpuIsNotIdleWhereAPreemptedThreadRuns) {
  Impose(other_, 300);
  Take(thread_, 400, 0);
  GoOn(thread_, 401);
  Leave(thread_, 402);
  Take(thread_, 600, 0);
  GoOn(thread_, 601);
  EXPECT_EQ(OwedUs(thread_), 300u);
}

TEST_F(CpuDebtTest, ACpuIsIdleWhereThePreemptedThreadHasLeftToo) {
  Impose(other_, 300);
  Take(thread_, 400, 0);
  GoOn(thread_, 401);
  Leave(thread_, 402);
  Leave(before_, 450);
  Take(thread_, 600, 0);
  GoOn(thread_, 601);
  EXPECT_EQ(OwedUs(thread_), 150u);
}

TEST_F(CpuDebtTest, ACpuIsIdleWhereThePreemptedThreadHasGoneToAnother) {
  Impose(other_, 300);
  Take(thread_, 400, 0);
  GoOn(thread_, 401);
  Leave(thread_, 402);
  GoOn(before_, 410, kElsewhere);
  Take(thread_, 502, 0);
  GoOn(thread_, 503);
  EXPECT_EQ(OwedUs(thread_), 200u);
}

TEST_F(CpuDebtTest, WhoMovesToAnotherCpuIsNotPreemptedThere) {
  thread_.local_delay_ns = 300 * kUs;
  Impose(other_, 300);
  GoOn(before_, 400, kElsewhere);
  Take(thread_, 500, 0);
  GoOn(thread_, 501);
  EXPECT_EQ(OwedUs(thread_), 200u) << "idle since 400";
  Leave(thread_, 502);
  Take(thread_, 602, 0);
  GoOn(thread_, 603);
  EXPECT_EQ(OwedUs(thread_), 100u);
}

TEST_F(CpuDebtTest, ThreadsThatHaveEndedWhilePreemptedAreForgotten) {
  Impose(other_, 300);
  Take(thread_, 400, 0);
  GoOn(thread_, 401);
  Leave(thread_, 402);
  global_->cpus.ForgetPreempted();
  Take(thread_, 602, 0);
  GoOn(thread_, 603);
  EXPECT_EQ(OwedUs(thread_), 100u);
}

// What the thread owes at the end of a wait that the outside has ended is what was inserted in it.
TEST_F(CpuDebtTest, WhoWaitsLeavesTheDebtWithItsCpu) {
  Impose(other_, 300);
  Leave(before_, 400);
  EXPECT_EQ(global_->cpus.local_delay_ns(kHere), 0u);
  EXPECT_EQ(OwedUs(before_), 0u);
  Impose(other_, 100);
  EXPECT_EQ(OwedUs(before_), 100u);
}

TEST_F(CpuDebtTest, AWaitThatIsOverAtOnceLeavesTheDebt) {
  Impose(other_, 300);
  Leave(before_, 400);
  Take(before_, 400, 0);
  GoOn(before_, 401);
  EXPECT_EQ(OwedUs(before_), 300u);
}

TEST_F(CpuDebtTest, WhoSleepsForItsOwnDebtLeavesThatOfItsCpu) {
  Impose(other_, 300);
  Leave(before_, 400);
  Impose(other_, 100);
  Take(before_, 450, 0);
  LeaveCpuWithDebt(*global_, before_, kHere, 450 * kUs);
  EXPECT_NEAR(global_->cpus.local_delay_ns(kHere), 50 * kUs, 1) << "idle for 50 us";
}

TEST_F(CpuDebtTest, WhoSpinsPaysForItsCpu) {
  Impose(other_, 300);
  for (int i = 0; i < 100; ++i) {
    before_.spinning.Note(true);
    before_.spinning.Earn(1000 * kUs);
  }
  CreditSpinning(*global_, before_);
  EXPECT_EQ(OwedUs(before_), 0u);
  EXPECT_EQ(global_->cpus.local_delay_ns(kHere), 300 * kUs);
}

TEST_F(CpuDebtTest, NobodyGoesOnLaterAfterAJoin) {
  GoOnAfter(*global_, thread_, 5000 * kUs, 1000 * kUs);
  EXPECT_EQ(thread_.local_delay_ns, 0u);
}

TEST_F(CpuDebtTest, WakeesAreLeftNoDebt) {
  Impose(other_, 300);
  EXPECT_EQ(LocalDelayForWakees(*global_, before_), 300 * kUs);
  EXPECT_EQ(LocalDelayForWakees(*global_, other_), 300 * kUs);
  global_->cpus_of_crowd = 0;
  EXPECT_EQ(LocalDelayForWakees(*global_, before_), 0u);
}

TEST_F(CpuDebtTest, WhoAccruesCarriesOnLessThanASample) {
  Impose(other_, 300);
  EXPECT_TRUE(OwesPause(*global_, before_));
  BeginAhead(before_, {SampledUnit::kSelected, 400 * kUs, 1000 * kUs, 5000 * kUs, 1, 0}, 400 * kUs);
  ASSERT_TRUE(before_.stretches.accrues());
  EXPECT_FALSE(OwesPause(*global_, before_));
  EXPECT_TRUE(OwesPause(*global_, before_, PauseBy::kSleep));
  Impose(other_, 200);
  EXPECT_TRUE(OwesPause(*global_, before_));
}

TEST_F(CpuDebtTest, WhoHasItsCpuHasNothingToGoOnFrom) {
  EXPECT_FALSE(MustGoOnHere(*global_, before_, kHere));
  EXPECT_TRUE(MustGoOnHere(*global_, before_, kElsewhere));
  EXPECT_TRUE(MustGoOnHere(*global_, thread_, kHere));
  Leave(before_, 400);
  EXPECT_TRUE(MustGoOnHere(*global_, before_, kHere));
  Take(before_, 500, 0);
  EXPECT_TRUE(MustGoOnHere(*global_, before_, kHere));
  GoOn(before_, 501);
  EXPECT_FALSE(MustGoOnHere(*global_, before_, kHere));
}

TEST_F(CpuDebtTest, WhoImposesIsAheadOnItsCpu) {
  Impose(other_, 300);
  EXPECT_EQ(global_->cpus.local_delay_ns(kElsewhere), 300 * kUs);
  EXPECT_EQ(global_->cpus.local_delay_ns(kHere), 0u);
}

TEST_F(CpuDebtTest, WithoutACrowdNothingIsNoted) {
  global_->cpus_of_crowd = 0;
  Impose(other_, 300);
  EXPECT_EQ(global_->cpus.local_delay_ns(kElsewhere), 0u);
}

// The waker's own delay is known, as at the start of a parallel region. The thread then waits for a
// CPU, on which others go on.
TEST_F(CpuDebtTest, WhatGrowsBetweenAWakeAndACpuIsNotOwed) {
  const Wait wait = BeginWait(thread_, 1 * kUs);
  Impose(other_, 300);
  const uint64_t of_waker_ns = global_->global_delay_ns;  // wakes at 501
  Impose(other_, 400);
  Pay(before_, 700);
  Take(thread_, 1001, 500);
  EndWaitOfQueued(*global_, thread_, wait, 1001 * kUs, of_waker_ns, 500 * kUs);
  EXPECT_EQ(OwedUs(thread_), 0u);
}

// A sleeper could have gone on long ago.
TEST_F(CpuDebtTest, WhoWasQueuedBehindASleepOwesOnlyWhatIsMore) {
  for (const uint64_t queued_us : {0, 200, 900}) {
    thread_.local_delay_ns = global_->global_delay_ns.load();
    const Wait wait = BeginWait(thread_, 1 * kUs);
    Impose(other_, 300);
    EndUncreditedWaitOfQueued(*global_, thread_, wait, 1001 * kUs, queued_us * kUs);
    EXPECT_EQ(OwedUs(thread_), queued_us < 300 ? 300 - queued_us : 0);
    EXPECT_FALSE(Waits(thread_));
  }
}

TEST_F(CpuDebtTest, WhoSleepsOwesAfterwardsWhatItOwedBefore) {
  Impose(other_, 300);
  Leave(before_, 400);
  EXPECT_EQ(OwedUs(before_), 0u);
  const Wait wait = BeginWait(before_, 400 * kUs);
  Take(before_, 1400, 0);  // the CPU has been idle
  EndUncreditedWaitOfQueued(*global_, before_, wait, 1400 * kUs, 0);
  EXPECT_EQ(OwedUs(before_), 300u);
}

TEST_F(CpuDebtTest, WhatTheCpuStillOwesIsNotOwedTwice) {
  Impose(other_, 300);
  Leave(before_, 400);
  const Wait wait = BeginWait(before_, 400 * kUs);
  Take(before_, 500, 0);
  EndUncreditedWaitOfQueued(*global_, before_, wait, 500 * kUs, 0);
  // For so long the CPU was idle. A bit of its time says that it was left.
  EXPECT_NEAR(static_cast<double>(OwedDelay(*global_, before_)), 100 * kUs, 1);
  GoOn(before_, 500);
  EXPECT_EQ(OwedUs(before_), 200u);
}

// Of that, some was before.
TEST_F(CpuDebtTest, NobodyIsQueuedForLongerThanTheWaitWas) {
  const Wait wait = BeginWait(thread_, 901 * kUs);
  Impose(other_, 300);
  EndUncreditedWaitOfQueued(*global_, thread_, wait, 1001 * kUs, 500 * kUs);
  EXPECT_EQ(OwedUs(thread_), 200u);
}

TEST_F(CpuDebtTest, NewThreadOwesNothingForItsTimeInTheQueue) {
  Impose(other_, 300);
  CreditOwed(*global_, thread_, 200 * kUs);
  EXPECT_EQ(OwedUs(thread_), 100u);
  CreditOwed(*global_, thread_, 200 * kUs);
  EXPECT_EQ(OwedUs(thread_), 0u);
}

}  // namespace
}  // namespace coz::delay
