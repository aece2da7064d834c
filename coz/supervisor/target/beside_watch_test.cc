#include "coz/supervisor/target/beside_watch.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "coz/base/clock.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

constexpr int kCpus = 2;

class BesideWatchTest : public ::testing::Test {
 protected:
  BesideWatchTest() : control_(testing::ZeroedControl()), watch_(control_.get()) {
    shared::ThreadSlot& slot = control_->threads[control_->threads_high_water++];
    slot.pid = getpid();
    slot.tid = static_cast<int32_t>(syscall(SYS_gettid));
    slot.state = shared::ThreadState::kRunning;
  }

  // Until the kernel has counted that this thread ran.
  void RunAWhile() {
    ThreadTimesMeter meter(control_.get());
    meter.TakeGrowth();
    uint64_t ran_ns = 0;
    while (ran_ns < kNsPerMs) ran_ns += meter.TakeGrowth()->ran_ns;
  }

  testing::OwnedControl control_;
  BesideWatch watch_;
};

TEST_F(BesideWatchTest, LooksAtNothingWhereNothingIsBeside) {
  for (uint64_t i = 1; i < 4; ++i) {
    RunAWhile();
    watch_.Poll(i * kNsPerSecond, i * kNsPerSecond, kCpus);
  }
  EXPECT_EQ(watch_.use().ran_ns, 0u);
  EXPECT_EQ(watch_.use().cpu_ns, 0u);
}

TEST_F(BesideWatchTest, CountsFromTheFirstLookOn) {
  watch_.SetCpus(0.5);
  RunAWhile();
  watch_.Poll(10 * kNsPerSecond, 900, kCpus);
  EXPECT_EQ(watch_.use().cpu_ns, 0u) << "what was before is nobody's";
  RunAWhile();
  watch_.Poll(10 * kNsPerSecond + 100 * kNsPerMs, 950, kCpus);
  EXPECT_EQ(watch_.use().ran_ns, 0u) << "too soon";
  watch_.Poll(11 * kNsPerSecond, 1000, kCpus);
  EXPECT_EQ(watch_.use().busy_ns, 100u);
  EXPECT_EQ(watch_.use().cpu_ns, kNsPerSecond / 2);
  const uint64_t ran_ns = watch_.use().ran_ns;
  EXPECT_GE(ran_ns, kNsPerMs);

  watch_.SetCpus(0);
  watch_.Poll(12 * kNsPerSecond, 2000, kCpus);
  watch_.SetCpus(1);
  RunAWhile();
  watch_.Poll(20 * kNsPerSecond, 3000, kCpus);
  EXPECT_EQ(watch_.use().cpu_ns, kNsPerSecond / 2) << "in between nothing was beside";
  EXPECT_EQ(watch_.use().ran_ns, ran_ns);
  watch_.Poll(21 * kNsPerSecond, 2990, kCpus);  // the kernel's figures fall now and then
  EXPECT_EQ(watch_.use().busy_ns, 100u);
  EXPECT_EQ(watch_.use().cpu_ns, 3 * kNsPerSecond / 2);
}

TEST_F(BesideWatchTest, OnlyOthersCanHaveQueuedThreadsThatHaveACpuEach) {
  ThreadTimes times;
  times.ran_ns = 100 * kNsPerMs;
  times.queued_ns = 50 * kNsPerMs;
  times.switches = 40;
  times.threads = 2;
  EXPECT_EQ(QueuedForOthersNs(times, 2), 50 * kNsPerMs);
  EXPECT_EQ(QueuedForOthersNs(times, 1), 0u) << "for each other, perhaps";
  times.switches = 400;
  EXPECT_EQ(QueuedForOthersNs(times, 2), 0u) << "while they were woken, perhaps";
}

}  // namespace
}  // namespace coz::supervisor
