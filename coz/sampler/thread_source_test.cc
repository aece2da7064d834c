#include "coz/sampler/thread_source.h"

#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "coz/base/sampling_signal.h"
#include "coz/sampler/perf_event.h"
#include "coz/sampler/sampler.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/in_child.h"

namespace coz::sampler {
namespace {

constexpr uint64_t kMs = 1'000'000;

struct Outcome {
  int results[2];
  std::atomic<uint64_t> samples;
  uint64_t samples_of_first_period;
};

Outcome* outcome = nullptr;

void CountSample(int, siginfo_t* info, void*) {
  if (IsThreadSigtrap(*info)) ++outcome->samples;
}

uint64_t ThreadCpuNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 * kMs + static_cast<uint64_t>(now.tv_nsec);
}

void Burn(uint64_t cpu_ns) {
  const uint64_t end_ns = ThreadCpuNs() + cpu_ns;
  while (ThreadCpuNs() < end_ns) {
    for (volatile int i = 0; i < 100000;
         i = i + 1) {  // in user code, where alone samples are taken
    }
  }
}

// Were it to go on, a first period that is shorter than what a sample costs would leave the thread
// no time of its own.
TEST(ThreadSourceTest, FirstPeriodOfASigtrapEndsOnce) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  testing::SharedValue<Outcome> shared;
  outcome = &*shared;
  ASSERT_EQ(testing::RunInChild([] {
              InstallSignalHandler(kSamplingSignal, &CountSample);
              UnblockSignal(kSamplingSignal);
              ThreadSource source;
              outcome->results[0] = StartThreadSigtrap(kMs / 10, true, &source);
              Burn(20 * kMs);
              outcome->samples_of_first_period = outcome->samples;
              outcome->results[1] = ContinueThreadEvent(kMs, source);
              Burn(20 * kMs);
              StopThreadSource(&source);
            }),
            0);
  EXPECT_EQ(outcome->results[0], 0);
  EXPECT_EQ(outcome->results[1], 0);
  EXPECT_EQ(outcome->samples_of_first_period, 1u);
  EXPECT_GT(outcome->samples, 5u);
}

TEST(ThreadSourceTest, WhatHasNotBegunCannotGoOn) {
  EXPECT_LT(ContinueThreadEvent(kMs, ThreadSource()), 0);
}

}  // namespace
}  // namespace coz::sampler
