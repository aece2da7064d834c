#include "coz/runtime/sample_handler.h"

#include <memory>
#include <thread>

#include "coz/base/clock.h"
#include "coz/runtime/runtime_state.h"
#include "coz/sync/interpose/thread_sync.h"
#include "gtest/gtest.h"

namespace coz::runtime {
namespace {

uint64_t g_left_out_ns = 0;

class SampleHandlerTest : public ::testing::Test {
 protected:
  SampleHandlerTest() {
    control_->sampling_period_ns = kNsPerSecond;
    control_->heartbeat_ns = MonotonicNowNs();
    control_->innermost_only = 1;
    runtime_internal::g_control = control_.get();
    interpose::ThreadHooks hooks = {};
    hooks.paused = [](uint64_t cpu_ns) { g_left_out_ns += cpu_ns; };
    interpose::InitThreadSync(&control_->ledger, hooks);
    g_left_out_ns = 0;
  }
  ~SampleHandlerTest() override {
    interpose::InitThreadSync(nullptr, {});
    runtime_internal::g_control = nullptr;
  }

  delay::ThreadLedger& thread() { return control_->threads[0].ledger; }

  // What one test leaves in its thread is not there in the next.
  template <typename Function>
  void InAThreadOfItsOwn(Function function) {
    std::thread([this, function] {
      interpose::EnterThreadSync(&thread(), 0);
      function();
      interpose::LeaveThreadSync();
    }).join();
  }

  // A sample of code that no file is mapped for.
  static void TakeSample() {
    sampler::Sample sample = {};
    sample.ip = 1;
    sample.weight = 1;
    sample.threads = 1;
    OnSample(sample);
  }
  uint64_t samples() const { return control_->counters.unmapped_samples; }

  void Pause() {
    control_->ledger.global_delay_ns += kNsPerMs;
    interpose::PayIfBehind();
  }

  const std::unique_ptr<shared::ControlBlock> control_ = std::make_unique<shared::ControlBlock>();
};

TEST_F(SampleHandlerTest, SampleInAPauseCountsNowhere) {
  InAThreadOfItsOwn([this] {
    TakeSample();
    EXPECT_EQ(samples(), 1u);
    for (const uint32_t pausing : {delay::kSleepsToPay, delay::kHoldsCpuToPay}) {
      thread().pausing = pausing;
      TakeSample();
      EXPECT_EQ(samples(), 1u);
    }
    thread().pausing = delay::kNotPausing;
    TakeSample();
    EXPECT_EQ(samples(), 2u);
  });
}

TEST_F(SampleHandlerTest, SampleInAPauseStandsForTheCpuTimeOfThoseThatFollow) {
  InAThreadOfItsOwn([this] {
    Pause();
    EXPECT_GT(g_left_out_ns, 0u);
    g_left_out_ns = 0;
    thread().pausing = delay::kSleepsToPay;
    TakeSample();  // one second of CPU time
    thread().pausing = delay::kNotPausing;
    Pause();
    EXPECT_EQ(g_left_out_ns, 0u);
  });
}

}  // namespace
}  // namespace coz::runtime
