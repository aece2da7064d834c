#include "coz/supervisor/target/call_latencies.h"

#include "coz/base/clock.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

constexpr uint32_t kLatency = 3;

class CallLatenciesTest : public ::testing::Test {
 protected:
  CallLatenciesTest() {
    control_->threads_high_water = 2;
    SetNsPerTick(0.5);
  }

  // As of now. It is known to a part in a million, as the session seems to be an hour old.
  void SetNsPerTick(double ns) {
    constexpr uint64_t kAgeNs = 3600 * kNsPerSecond;
    control_->start_ns = MonotonicNowNs() - kAgeNs;
    control_->start_ticks =
        __builtin_ia32_rdtsc() - static_cast<uint64_t>(static_cast<double>(kAgeNs) / ns);
  }
  shared::CallLatency& Sums(uint32_t thread) {
    return control_->threads[thread].timers.latencies[kLatency];
  }

  testing::OwnedControl control_ = testing::ZeroedControl();
  CallLatencies latencies_{control_.get(), kLatency};
};

TEST_F(CallLatenciesTest, TimesAreWithoutTheDelayThatThreadsServed) {
  Sums(0).calls = 2;
  Sums(0).ticks = 2'000'000;
  Sums(0).delay_ns = 300'000;
  Sums(1).calls = 1;
  Sums(1).ticks = 1'000'000;
  control_->threads[1].timers.latencies[kLatency + 1].calls = 7;
  const CallLatencySums sums = latencies_.Read();
  EXPECT_EQ(sums.calls, 3u);
  EXPECT_NEAR(static_cast<double>(sums.time_ns), 1'500'000 - 300'000, 100);
}

TEST_F(CallLatenciesTest, WhatATickIsNowChangesNoEarlierTime) {
  Sums(0).ticks = 2'000'000'000;
  const uint64_t before_ns = latencies_.Read().time_ns;
  SetNsPerTick(0.25);
  EXPECT_EQ(latencies_.Read().time_ns, before_ns);
  Sums(0).ticks += 4'000'000;
  EXPECT_NEAR(static_cast<double>(latencies_.Read().time_ns - before_ns), 1'000'000, 100);
}

// The counters of two CPUs.
TEST_F(CallLatenciesTest, ACallMayEndBeforeItBeganByALittle) {
  Sums(0).ticks = 2'000'000;
  const uint64_t before_ns = latencies_.Read().time_ns;
  Sums(0).ticks -= 200;
  EXPECT_NEAR(static_cast<double>(before_ns - latencies_.Read().time_ns), 100, 2);
}

}  // namespace
}  // namespace coz::supervisor
