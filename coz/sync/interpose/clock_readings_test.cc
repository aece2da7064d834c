// How often a call for input or output reads the clock: that is much of what it costs.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstdint>
#include <memory>

#include "coz/base/clock.h"
#include "coz/base/raw_syscall.h"
#include "coz/sync/delay/delay_ledger.h"
#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/thread_sync.h"

namespace {
int g_readings = 0;
}  // namespace

// In place of libc's.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  ++g_readings;
  return coz::RawSyscall(SYS_clock_gettime, clock, now) == 0 ? 0 : -1;
}

namespace coz::interpose {
namespace {

bool NotQueued(uint64_t* queued_ns) {
  *queued_ns = 0;
  return true;
}

class ClockReadingsTest : public ::testing::Test {
 protected:
  ClockReadingsTest() {
    ThreadHooks hooks = {};
    hooks.queued = NotQueued;
    InitThreadSync(global_.get(), hooks);
    io_internal::t_clock = {};
    EnterThreadSync(&thread_, 0);
  }
  ~ClockReadingsTest() override {
    LeaveThreadSync();
    InitThreadSync(nullptr, {});
  }

  template <IoWait kWait>
  int ReadingsOfCall() {
    const int before = g_readings;
    WaitForIo<kWait>([] { return 1; }, [](int) { return uint64_t{0}; });
    return g_readings - before;
  }

  void Accrue() {
    global_->selection = 1;
    thread_.stretches.SetInProgressForTest(1, 0, MonotonicNowNs());
  }

  std::unique_ptr<delay::GlobalLedger> global_ = std::make_unique<delay::GlobalLedger>();
  delay::ThreadLedger thread_ = {};
};

TEST_F(ClockReadingsTest, NoneInAThreadThatRunsNoUnit) {
  EXPECT_EQ(ReadingsOfCall<IoWait::kInput>(), 0);
  EXPECT_EQ(ReadingsOfCall<IoWait::kOutput>(), 0);
}

TEST_F(ClockReadingsTest, OneBeforeTheCallAndOneBehindItWhereTheThreadAccrues) {
  Accrue();
  EXPECT_EQ(ReadingsOfCall<IoWait::kInput>(), 2);
  EXPECT_EQ(ReadingsOfCall<IoWait::kOutput>(), 2);
}

TEST_F(ClockReadingsTest, AsManyInACrowdAndWhileDelaysAreInserted) {
  global_->cpus_of_crowd = 2;
  GoOnHere(thread_);
  Accrue();
  global_->global_delay_ns += 5 * kNsPerUs;
  thread_.local_delay_ns = global_->global_delay_ns.load();
  EXPECT_EQ(ReadingsOfCall<IoWait::kInput>(), 2);
  EXPECT_EQ(ReadingsOfCall<IoWait::kOutput>(), 2);
}

// Who may wait leaves its CPU at a known time.
TEST_F(ClockReadingsTest, OneBehindACallInACrowdAndOneBeforeInput) {
  global_->cpus_of_crowd = 2;
  GoOnHere(thread_);
  EXPECT_EQ(ReadingsOfCall<IoWait::kInput>(), 2);
  EXPECT_EQ(ReadingsOfCall<IoWait::kOutput>(), 1);
}

}  // namespace
}  // namespace coz::interpose
