#include "coz/runtime/sample_handler.h"

#include <setjmp.h>

#include <thread>

#include "coz/base/clock.h"
#include "coz/runtime/runtime_state.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::runtime {
namespace {

// A sample of code that no file is mapped for.
void TakeSampleAt(const void* stack_pointer) {
  ucontext_t context = {};
  context.uc_mcontext.gregs[REG_RSP] =
      static_cast<greg_t>(reinterpret_cast<uintptr_t>(stack_pointer));
  sampler::Sample sample = {};
  sample.ip = 1;
  sample.context = &context;
  sample.weight = 1;
  sample.threads = 1;
  OnSample(sample);
}
[[gnu::noinline]] void TakeSampleHere() { TakeSampleAt(__builtin_frame_address(0)); }

enum class InPause { kNothing, kSample, kLongjmp };
InPause g_in_pause = InPause::kNothing;
uint64_t g_left_out_ns = 0;
jmp_buf g_before_pause;

// At the end of a pause.
void Paused(uint64_t cpu_ns) {
  g_left_out_ns += cpu_ns;
  if (g_in_pause == InPause::kSample) TakeSampleHere();
  if (g_in_pause == InPause::kLongjmp) longjmp(g_before_pause, 1);
}

class SampleHandlerTest : public ::testing::Test {
 protected:
  SampleHandlerTest() {
    control_->sampling_period_ns = kNsPerSecond;
    control_->heartbeat_ns = MonotonicNowNs();
    control_->innermost_only = 1;
    runtime_internal::g_control = control_.get();
    interpose::ThreadHooks hooks = {};
    hooks.paused = Paused;
    interpose::InitThreadSync(&control_->ledger, hooks);
    g_left_out_ns = 0;
    g_in_pause = InPause::kNothing;
  }
  ~SampleHandlerTest() override {
    interpose::InitThreadSync(nullptr, {});
    interpose::sync_internal::g_sleep_cost.ns = 0;
    runtime_internal::g_control = nullptr;
  }

  // What one test leaves in its thread is not there in the next.
  template <typename Function>
  void InAThreadOfItsOwn(Function function) {
    std::thread([this, function] {
      interpose::EnterThreadSync(&thread(), 0);
      function();
      interpose::LeaveThreadSync();
    }).join();
  }

  delay::ThreadLedger& thread() { return control_->threads[0].ledger; }
  uint64_t samples() const { return control_->counters.unmapped_samples; }

  void Pause(InPause in_pause) {
    g_in_pause = in_pause;
    thread().local_delay_ns.store(control_->ledger.global_delay_ns);
    control_->ledger.global_delay_ns += 30 * kNsPerUs;
    interpose::PayIfBehind();
    g_in_pause = InPause::kNothing;
  }

  const testing::OwnedControl control_ = testing::ZeroedControl();
};

TEST_F(SampleHandlerTest, SampleInAPauseCountsNowhere) {
  InAThreadOfItsOwn([this] {
    TakeSampleHere();
    EXPECT_EQ(samples(), 1u);
    for (const uint32_t sleep_cost_ns : {0, 50'000}) {  // the pause sleeps; holds its CPU
      interpose::sync_internal::g_sleep_cost.ns = sleep_cost_ns;
      Pause(InPause::kSample);
      EXPECT_EQ(samples(), 1u) << sleep_cost_ns;
    }
    EXPECT_GE(thread().pauses, 2u);
    TakeSampleHere();
    EXPECT_EQ(samples(), 2u);
  });
}

TEST_F(SampleHandlerTest, SampleInAPauseStandsForTheCpuTimeOfThoseThatFollow) {
  InAThreadOfItsOwn([this] {
    Pause(InPause::kNothing);
    EXPECT_GT(g_left_out_ns, 0u);
    Pause(InPause::kSample);  // one second of CPU time
    g_left_out_ns = 0;
    Pause(InPause::kNothing);
    EXPECT_EQ(g_left_out_ns, 0u);
  });
}

TEST_F(SampleHandlerTest, SampleAfterAPauseThatWasLeftByLongjmpCounts) {
  InAThreadOfItsOwn([this] {
    if (setjmp(g_before_pause) == 0) Pause(InPause::kLongjmp);
    g_in_pause = InPause::kNothing;
    EXPECT_NE(thread().pausing, delay::kNotPausing);
    TakeSampleAt(__builtin_frame_address(0));
    EXPECT_EQ(samples(), 1u);
    TakeSampleAt(nullptr);  // wherever it is by now
    EXPECT_EQ(samples(), 2u);
  });
}

}  // namespace
}  // namespace coz::runtime
