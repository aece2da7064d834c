#include "coz/sync/delay/cpu_share.h"

#include <memory>

#include "coz/sync/delay/delay_ledger.h"
#include "gtest/gtest.h"

namespace coz::delay {
namespace {

constexpr uint64_t kUs = 1000;
constexpr uint32_t kHere = 0;
constexpr uint32_t kElsewhere = 1;

class CpuShareTest : public ::testing::Test {
 protected:
  CpuShareTest() {
    global_->cpus_of_crowd = 2;
    Look(thread_, 1, 0, kHere);
    Look(other_, 1, 0, kElsewhere);
  }

  uint64_t Look(ThreadLedger& thread, uint64_t now_us, uint64_t queued_us, uint32_t cpu) {
    return LookAtCpu(*global_, thread, {now_us * kUs, queued_us * kUs, cpu});
  }
  uint64_t OwedUs() { return OwedDelay(*global_, thread_) / kUs; }

  std::unique_ptr<GlobalLedger> global_{new GlobalLedger()};
  std::unique_ptr<ThreadLedger> thread_memory_{new ThreadLedger()};
  std::unique_ptr<ThreadLedger> other_memory_{new ThreadLedger()};
  std::unique_ptr<ThreadLedger> before_memory_{new ThreadLedger()};  // ran on kHere
  ThreadLedger& thread_ = *thread_memory_;
  ThreadLedger& other_ = *other_memory_;
};

TEST_F(CpuShareTest, RunningTimeIsOwedInFull) {
  ImposeDelay(*global_, other_, 300 * kUs);
  EXPECT_EQ(Look(thread_, 1001, 0, kHere), 0u);
  EXPECT_EQ(OwedUs(), 300u);
  EXPECT_FALSE(IsCrowded(*global_, 1001 * kUs));
}

TEST_F(CpuShareTest, WhatIsImposedOnItsCpuGrewWhileItWasQueued) {
  Look(other_, 100, 0, kHere);
  ImposeDelay(*global_, other_, 300 * kUs);
  EXPECT_EQ(Look(thread_, 1001, 600, kHere), 600 * kUs);
  EXPECT_EQ(OwedUs(), 0u);
  EXPECT_TRUE(IsCrowded(*global_, 1001 * kUs));
}

TEST_F(CpuShareTest, WhatIsImposedElsewhereGrewEvenly) {
  ImposeDelay(*global_, other_, 300 * kUs);
  Look(thread_, 1001, 600, kHere);
  EXPECT_EQ(OwedUs(), 120u) << "for 400 of 1,000 us it had a CPU";
}

TEST_F(CpuShareTest, MomentsInTheQueueAddUp) {
  for (uint64_t look = 1; look <= 40; ++look) {
    ImposeDelay(*global_, other_, 8 * kUs);
    Look(thread_, 1 + 25 * look, 15 * look, kHere);
  }
  EXPECT_NEAR(OwedUs(), 40 * 8 * 0.4, 8) << "for 400 of 1,000 us it had a CPU";
}

TEST_F(CpuShareTest, CreditIsAtMostTheTimeInTheQueue) {
  ImposeDelay(*global_, other_, 5000 * kUs);
  Look(thread_, 1001, 600, kHere);
  EXPECT_EQ(OwedUs(), 4400u);
}

TEST_F(CpuShareTest, WhatTheThreadImposesItselfIsNoCredit) {
  ImposeDelay(*global_, thread_, 300 * kUs);
  Look(thread_, 1001, 600, kHere);
  EXPECT_EQ(thread_.local_delay_ns, 300 * kUs);
  EXPECT_EQ(thread_.credited_ns, 0u);
}

TEST_F(CpuShareTest, AfterAWaitOnlyItsTimeInTheQueueCounts) {
  BeginWait(thread_, 100 * kUs);
  ImposeDelay(*global_, other_, 300 * kUs);
  EndWaitUncredited(thread_);
  EXPECT_EQ(Look(thread_, 1001, 100, kHere), 100 * kUs);
  EXPECT_EQ(OwedUs(), 270u) << "of 1,000 us it was queued for 100";
}

// What other CPUs impose is paid once for each CPU, by the thread that has it.
TEST_F(CpuShareTest, QueuedThreadDoesNotPayWhatItsCpuHasPaid) {
  ImposeDelay(*global_, other_, 300 * kUs);
  RecordPause(*before_memory_, 300 * kUs, 300 * kUs);
  LeaveToCpu(*global_, *before_memory_, kHere);
  EXPECT_EQ(Look(thread_, 1001, 0, kHere), 0u);
  EXPECT_EQ(OwedUs(), 300u) << "it was not queued, so it had another CPU until now, or none";
  EXPECT_EQ(Look(thread_, 1101, 30, kHere), 30 * kUs);
  EXPECT_EQ(OwedUs(), 0u);
  EXPECT_EQ(thread_.credited_ns, 300 * kUs);
}

TEST_F(CpuShareTest, QueuedThreadPaysTheRestOfItsCpusDebt) {
  ImposeDelay(*global_, other_, 300 * kUs);
  RecordPause(*before_memory_, 250 * kUs, 250 * kUs);
  LeaveToCpu(*global_, *before_memory_, kHere);
  Look(thread_, 1101, 30, kHere);
  EXPECT_EQ(OwedUs(), 50u);
}

TEST_F(CpuShareTest, OldValueOfAnIdleCpuPutsNoThreadIntoDebt) {
  LeaveToCpu(*global_, *before_memory_, kHere);
  ImposeDelay(*global_, other_, 300 * kUs);
  const Wait wait = BeginWait(thread_, 1 * kUs);
  const uint64_t queued_ns = Look(thread_, 1001, 40, kHere);
  EndWaitOfQueued(*global_, thread_, wait, 1001 * kUs, global_->global_delay_ns, queued_ns);
  EXPECT_EQ(OwedUs(), 0u);
}

TEST_F(CpuShareTest, WokenThreadGoesOnFromItsCpuWhereItsWakerOwesMore) {
  const Wait wait = BeginWait(thread_, 1 * kUs);
  ImposeDelay(*global_, other_, 300 * kUs);
  RecordPause(*before_memory_, 300 * kUs, 300 * kUs);
  LeaveToCpu(*global_, *before_memory_, kHere);
  const uint64_t of_waker_ns = 100 * kUs;
  const uint64_t queued_ns = Look(thread_, 1001, 30, kHere);
  EndWaitOfQueued(*global_, thread_, wait, 1001 * kUs, of_waker_ns, queued_ns);
  EXPECT_EQ(OwedUs(), 0u);
}

TEST_F(CpuShareTest, WhoImposesLeavesItToItsCpu) {
  ImposeDelay(*global_, other_, 300 * kUs);
  EXPECT_EQ(global_->cpus.local_delay_ns(kElsewhere), 300 * kUs);
  EXPECT_EQ(global_->cpus.local_delay_ns(kHere), 0u);
}

TEST_F(CpuShareTest, NewThreadOwesNothingForItsTimeInTheQueue) {
  ImposeDelay(*global_, other_, 300 * kUs);
  CreditOwed(*global_, thread_, 200 * kUs);
  EXPECT_EQ(OwedUs(), 100u);
  CreditOwed(*global_, thread_, 200 * kUs);
  EXPECT_EQ(OwedUs(), 0u);
}

TEST_F(CpuShareTest, WithoutACrowdNothingIsNoted) {
  global_->cpus_of_crowd = 0;
  ImposeDelay(*global_, other_, 300 * kUs);
  EXPECT_EQ(global_->cpus.imposed_ns(kElsewhere), 0u);
}

// The waker's own delay is known, as at the start of a parallel region. The thread then waits for a
// CPU, on which others go on.
TEST_F(CpuShareTest, WhatGrowsBetweenAWakeAndACpuIsNotOwed) {
  const Wait wait = BeginWait(thread_, 1 * kUs);
  ImposeDelay(*global_, other_, 300 * kUs);
  const uint64_t of_waker_ns = global_->global_delay_ns;  // wakes at 501
  ImposeDelay(*global_, other_, 400 * kUs);
  const uint64_t queued_ns = Look(thread_, 1001, 500, kHere);
  EndWaitOfQueued(*global_, thread_, wait, 1001 * kUs, of_waker_ns, queued_ns);
  EXPECT_EQ(OwedUs(), 0u);
}

TEST_F(CpuShareTest, WhatGrowsBeforeAWakeByAThreadThatOwesIsOwed) {
  const Wait wait = BeginWait(thread_, 1 * kUs);
  const uint64_t of_waker_ns = 100 * kUs;
  ImposeDelay(*global_, other_, 700 * kUs);
  const uint64_t queued_ns = Look(thread_, 1001, 200, kHere);
  EndWaitOfQueued(*global_, thread_, wait, 1001 * kUs, of_waker_ns, queued_ns);
  EXPECT_EQ(OwedUs(), 400u) << "700 less the waker's 100 and the 200 in the queue";
}

}  // namespace
}  // namespace coz::delay
