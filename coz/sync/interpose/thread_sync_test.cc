// Waits that the program marks itself. interpose_test.cc has the waits in libc's calls.
#include "coz/sync/interpose/thread_sync.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <memory>

#include "coz/base/clock.h"
#include "coz/sync/interpose/blocked_scope.h"
#include "coz/sync/interpose/io_wait.h"
#include "gtest/gtest.h"

namespace coz::interpose {
namespace {

constexpr uint64_t kStartNs = 1000 * kNsPerMs;

class ToldWaitTest : public ::testing::Test {
 protected:
  ToldWaitTest() {
    InitThreadSync(global_.get(), {});
    global_->global_delay_ns = 500 * kNsPerUs;
  }
  ~ToldWaitTest() override { InitThreadSync(nullptr, {}); }

  // The local delay after a wait of `waited_ns` in which `inserted_ns` of delay are inserted.
  uint64_t LocalDelayAfter(uint64_t before_ns, uint64_t waited_ns, uint64_t inserted_ns = 0) {
    thread_.local_delay_ns = before_ns;
    const delay::Wait wait = BeginThreadWait(thread_, kStartNs);
    global_->global_delay_ns += inserted_ns;
    EndMarkedWait(thread_, wait, kStartNs + waited_ns);
    EXPECT_EQ(thread_.blocked.load(), delay::kNotBlocked);
    return thread_.local_delay_ns;
  }

  std::unique_ptr<delay::GlobalLedger> global_ = std::make_unique<delay::GlobalLedger>();
  delay::ThreadLedger thread_ = {};
};

// The thread does not give up its CPU.
TEST_F(ToldWaitTest, CreditsAThreadThatHasSpunWithExcess) {
  EXPECT_EQ(LocalDelayAfter(580 * kNsPerUs, 300 * kNsPerUs, 200 * kNsPerUs), 700 * kNsPerUs);
}

TEST_F(ToldWaitTest, AbsorbsExcessByTheTimeThatItTook) {
  EXPECT_EQ(LocalDelayAfter(580 * kNsPerUs, 300 * kNsPerUs), 500 * kNsPerUs);
}

TEST_F(ToldWaitTest, KeepsTheExcessOfOneThatReturnedAtOnce) {
  EXPECT_EQ(LocalDelayAfter(580 * kNsPerUs, 1 * kNsPerUs), 580 * kNsPerUs);
}

TEST_F(ToldWaitTest, CreditsNoMoreThanTheTimeThatItTook) {
  EXPECT_EQ(LocalDelayAfter(500 * kNsPerUs, 50 * kNsPerUs, 200 * kNsPerUs), 550 * kNsPerUs);
}

delay::ThreadLedger* g_paying = nullptr;

// A sample comes in the middle of a pause, and its handler pays what the thread owes.
TEST_F(ToldWaitTest, WhatAHandlerPaysInAPauseIsAskedForOnce) {
  EnterThreadSync(&thread_, 0);
  global_->global_delay_ns = 30 * kNsPerMs;
  g_paying = &thread_;
  struct sigaction action = {};
  action.sa_handler = [](int) { PayDebt(*g_paying); };
  ASSERT_EQ(sigaction(SIGALRM, &action, nullptr), 0);
  const itimerval once = {{0, 0}, {0, 5000}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &once, nullptr), 0);
  PayDebt(thread_);
  LeaveThreadSync();
  EXPECT_LE(thread_.pauses.load(), 2u);
  EXPECT_GE(thread_.paused_ns.load(), 30 * kNsPerMs);
  EXPECT_LE(thread_.asked_ns.load(), thread_.paused_ns.load());
}

// How often the thread has slept.
long Sleeps() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

class SleepCostTest : public ToldWaitTest {
 protected:
  SleepCostTest() { EnterThreadSync(&thread_, global_->global_delay_ns); }
  ~SleepCostTest() override {
    LeaveThreadSync();
    sync_internal::g_sleep_cost.ns = 0;
  }

  // Whether a pause for `owed_ns` sleeps, after a wait or at another call.
  bool SleepsFor(
      uint64_t owed_ns, void (*pay)() = [] { PayIfBehind(); }) {
    const long sleeps = Sleeps();
    const uint64_t before_ns = thread_.paused_ns;
    thread_.local_delay_ns.store(global_->global_delay_ns);
    global_->global_delay_ns += owed_ns;
    pay();
    EXPECT_GE(thread_.paused_ns - before_ns, owed_ns);
    return Sleeps() != sleeps;
  }
};

TEST_F(SleepCostTest, PauseThatTakesLessThanToFallAsleepKeepsItsCpu) {
  sync_internal::g_sleep_cost.ns = 30 * kNsPerUs;
  for (void (*pay)() : {+[] { PayIfBehind(); }, +[] { PayAfterWait(); }}) {
    EXPECT_FALSE(SleepsFor(29 * kNsPerUs, pay));
    EXPECT_TRUE(SleepsFor(100 * kNsPerMs, pay));
    sync_internal::g_sleep_cost.ns = 30 * kNsPerUs;
  }
}

TEST_F(SleepCostTest, IsWhatSleepingTakes) {
  for (int i = 0; i < 10; ++i) SleepsFor(kNsPerMs);
  EXPECT_GT(sync_internal::g_sleep_cost.ns, 0u);
  EXPECT_LE(sync_internal::g_sleep_cost.ns, 50 * kNsPerUs);
}

uint64_t g_queued_ns = 0;
int g_looks = 0;

bool Queued(uint64_t* queued_ns) {
  ++g_looks;
  *queued_ns = g_queued_ns;
  return true;
}
bool QueuedUnknown(uint64_t*) { return false; }

class CrowdTest : public ::testing::Test {
 protected:
  explicit CrowdTest(bool (*queued)(uint64_t*) = Queued) {
    ThreadHooks hooks = {};
    hooks.queued = queued;
    InitThreadSync(global_.get(), hooks);
    thread_.number = 1;
    EnterThreadSync(&thread_, 0);
    global_->cpus_of_crowd = 2;
  }
  ~CrowdTest() override {
    LeaveThreadSync();
    InitThreadSync(nullptr, {});
  }

  void BeQueuedFor(uint64_t queued_ns) {
    LookAtCpu(thread_, MonotonicNowNs());
    const uint64_t start_ns = MonotonicNowNs();
    while (MonotonicNowNs() - start_ns < queued_ns) {
    }
    g_queued_ns += queued_ns;
    LookAtCpu(thread_, MonotonicNowNs());
  }

  // Whether a CPU has the thread's local delay for the next.
  bool IsLeft() const {
    for (uint32_t cpu = 0; cpu < delay::CpuTable::kCpus; ++cpu) {
      if (global_->cpus.local_delay_ns(cpu) == thread_.local_delay_ns) return true;
    }
    return false;
  }

  std::unique_ptr<delay::GlobalLedger> global_ = std::make_unique<delay::GlobalLedger>();
  delay::ThreadLedger thread_ = {};
};

TEST_F(CrowdTest, PauseAndWaitLeaveTheDelayToTheNextOnTheCpu) {
  BeQueuedFor(kNsPerMs);
  global_->global_delay_ns += 2 * kNsPerMs;
  PayDebt(thread_);
  EXPECT_TRUE(IsLeft());
  thread_.local_delay_ns += kNsPerMs;
  EXPECT_FALSE(IsLeft());
  { const BlockedScope wait; }
  EXPECT_TRUE(IsLeft());
}

TEST_F(CrowdTest, PauseKeepsItsCpu) {
  BeQueuedFor(kNsPerMs);
  global_->global_delay_ns += 2 * kNsPerMs;
  const long sleeps = Sleeps();
  PayDebt(thread_);
  EXPECT_EQ(Sleeps(), sleeps);
  EXPECT_GE(thread_.paused_ns, 2 * kNsPerMs);
  EXPECT_EQ(thread_.pausing, delay::kNotPausing);
}

TEST_F(CrowdTest, DebtOfAWaitIsSleptFor) {
  // A thread that loses its CPU for longer, before it sleeps, has paid by that.
  constexpr uint64_t kDebtNs = 100 * kNsPerMs;
  BeQueuedFor(kNsPerMs);
  global_->global_delay_ns += kDebtNs;
  const long sleeps = Sleeps();
  PayAfterWait();
  EXPECT_GT(Sleeps(), sleeps);
  EXPECT_GE(thread_.paused_ns, kDebtNs);
}

// Ends a wait of 10 ms. At its start the thread had 1 ms of local delay. In it, it has got another
// one, and the CPUs owe 5 ms in all.
uint64_t PauseAfterInput(delay::GlobalLedger& global, delay::ThreadLedger& thread,
                         uint64_t waker_local_delay_ns, uint64_t queued_ns,
                         io_internal::WokenBy woken_by = io_internal::WokenBy::kMayBeOutside) {
  thread.local_delay_ns = 1 * kNsPerMs;
  const delay::Wait wait = delay::BeginWait(thread, MonotonicNowNs() - 10 * kNsPerMs);
  thread.local_delay_ns = 2 * kNsPerMs;
  global.global_delay_ns = 5 * kNsPerMs;
  const uint64_t before_ns = thread.paused_ns;
  io_internal::EndOwing(thread, wait, waker_local_delay_ns, queued_ns, woken_by);
  EXPECT_EQ(thread.blocked, delay::kNotBlocked);
  return thread.paused_ns - before_ns;
}

TEST_F(CrowdTest, TheQueueBehindAWakeIsNotPaidFor) {
  constexpr uint64_t kLevelNs = 1500 * kNsPerUs;
  EXPECT_EQ(PauseAfterInput(*global_, thread_, kLevelNs, 4 * kNsPerMs), 0u);
  EXPECT_EQ(thread_.local_delay_ns, 5 * kNsPerMs);
  EXPECT_GE(PauseAfterInput(*global_, thread_, kLevelNs, 0), 3 * kNsPerMs) << "not queued";
  EXPECT_GE(PauseAfterInput(*global_, thread_, 0, 0), 3 * kNsPerMs) << "by the outside";
  EXPECT_GE(PauseAfterInput(*global_, thread_, 0, kNsPerMs), 2 * kNsPerMs);
  EXPECT_EQ(PauseAfterInput(*global_, thread_, 0, 4 * kNsPerMs), 0u)
      << "it could have gone on long ago";
  EXPECT_EQ(PauseAfterInput(*global_, thread_, kNsPerMs, 4 * kNsPerMs), 0u)
      << "nothing was inserted between the start of the wait and the wake";
  EXPECT_GE(PauseAfterInput(*global_, thread_, kNsPerMs - 1, kNsPerMs), 2 * kNsPerMs)
      << "the value is older than the wait";
  EXPECT_EQ(
      PauseAfterInput(*global_, thread_, kNsPerMs - 1, 4 * kNsPerMs, io_internal::WokenBy::kThread),
      0u)
      << "and yet a thread has left it, as in a team of OpenMP";
}

TEST_F(CrowdTest, LooksThatFollowAtOnceAskNothing) {
  const uint64_t first_ns = MonotonicNowNs();
  LookAtCpu(thread_, MonotonicNowNs());
  g_queued_ns += kNsPerMs;
  while (LookAtCpu(thread_, MonotonicNowNs()) == 0) {
  }
  EXPECT_GE(MonotonicNowNs() - first_ns, delay::CpuShare::kLeastBetweenLooksNs);
}

TEST_F(CrowdTest, APauseLooksSoonerThanACall) {
  const uint64_t look_ns = MonotonicNowNs() - delay::CpuShare::kLeastBeforePauseNs;
  LookAtCpu(thread_, look_ns);
  const int looks = g_looks;
  LookAtCpu(thread_, look_ns + delay::CpuShare::kLeastBetweenLooksNs - 1);
  EXPECT_EQ(g_looks, looks);
  global_->global_delay_ns += kNsPerMs;
  PayDebt(thread_);
  EXPECT_GT(g_looks, looks);
}

TEST_F(CrowdTest, ThreadThatIsNotQueuedSleeps) {
  LookAtCpu(thread_, MonotonicNowNs());
  global_->global_delay_ns += 2 * kNsPerMs;
  const long sleeps = Sleeps();
  PayDebt(thread_);
  EXPECT_GT(Sleeps(), sleeps);
}

TEST_F(CrowdTest, SmallDebtIsCarriedOn) {
  global_->global_delay_ns += 20 * kNsPerUs;
  PayDebt(thread_);
  EXPECT_EQ(thread_.pauses, 0u);
  global_->global_delay_ns += 20 * kNsPerUs;
  PayDebt(thread_);
  EXPECT_EQ(thread_.pauses, 1u);
}

// A server's thread is at calls several times for each request, and a look is a system call.
TEST_F(CrowdTest, CallsWithASmallDebtDoNotLook) {
  global_->global_delay_ns += 20 * kNsPerUs;
  const int looks = g_looks;
  const uint64_t start_ns = MonotonicNowNs();
  while (MonotonicNowNs() - start_ns < 5 * delay::CpuShare::kLeastBetweenLooksNs) PayIfBehind();
  EXPECT_EQ(g_looks, looks);
  global_->global_delay_ns += 20 * kNsPerUs;
  PayIfBehind();
  EXPECT_GT(g_looks, looks);
}

TEST_F(CrowdTest, PauseKeepsItsCpuBesideOtherProgramsWithoutACrowd) {
  global_->cpus_of_crowd = 0;
  global_->cpus_are_shared = 1;
  global_->global_delay_ns += 2 * kNsPerMs;
  const long sleeps = Sleeps();
  PayDebt(thread_);
  EXPECT_EQ(Sleeps(), sleeps);
  EXPECT_GE(thread_.paused_ns, 2 * kNsPerMs);
  EXPECT_FALSE(IsLeft()) << "no crowd: each thread pays";
  constexpr uint64_t kDebtNs = 100 * kNsPerMs;
  global_->global_delay_ns += kDebtNs;
  PayAfterWait();
  EXPECT_GT(Sleeps(), sleeps) << "it had no CPU in its wait";
}

class CrowdWithoutClockTest : public CrowdTest {
 protected:
  CrowdWithoutClockTest() : CrowdTest(QueuedUnknown) {}
};

TEST_F(CrowdWithoutClockTest, PaysAsIfThereWereNone) {
  global_->crowded_until_ns = ~uint64_t{0};
  global_->global_delay_ns += 2 * kNsPerMs;
  const long sleeps = Sleeps();
  PayDebt(thread_);
  EXPECT_GT(Sleeps(), sleeps);
}

}  // namespace
}  // namespace coz::interpose
