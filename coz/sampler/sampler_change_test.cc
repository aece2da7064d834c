// From whatever samples a process to CPU timers, while it runs.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "coz/base/thread_cpu_clock.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/testing/sampler_fixture.h"
#include "coz/testing/in_child.h"

namespace coz::sampler {
namespace {

using testing::RunInChild;

using ChangeTest = SamplerTest;
INSTANTIATE_TEST_SUITE_P(Sources, ChangeTest, EverySource(), NameOfSource);

// Of the threads that are there at the change.
std::atomic<int32_t> tids[3];
std::atomic<bool> is_to_change;

int32_t Tid() { return static_cast<int32_t>(syscall(SYS_gettid)); }

void CountAndChange(const Sample& sample) {
  periods_here += sample.weight;
  if (!is_to_change.load() || !ChangeToCpuTimers()) return;
  ++outcome->values[0];
  const int32_t self = Tid();
  for (const std::atomic<int32_t>& tid : tids) {
    if (tid.load() != 0 && tid.load() != self) SampleThreadByTimer(tid.load());
  }
}

uint64_t TimersOfProcess() {
  std::ifstream timers("/proc/self/timers");
  std::string line;
  uint64_t count = 0;
  while (std::getline(timers, line)) count += line.rfind("ID:", 0) == 0 ? 1 : 0;
  return count;
}

// Burns and returns the periods sampled meanwhile.
uint64_t PeriodsOfBurning(uint64_t cpu_ns) {
  const uint64_t before = periods_here;
  BurnInUserCode(cpu_ns);
  return periods_here - before;
}

void BurnUntilTheNextSample() {
  const uint64_t before = periods_here;
  while (periods_here == before) BurnInUserCode(kMs / 10);
}

// The share of a thread's time that periods cover, in percent, from one sample to another, 200 ms
// later or more. A timer's sample comes at a tick that finds the thread on its CPU, for all of the
// time since the last one. Beside other threads that may be long.
uint64_t PercentSampled() {
  BurnUntilTheNextSample();
  const uint64_t start_ns = ThreadCpuNowNs();
  const uint64_t before = periods_here;
  BurnInUserCode(200 * kMs);
  BurnUntilTheNextSample();
  return 100 * (periods_here - before) * kMs / (ThreadCpuNowNs() - start_ns);
}

TEST_P(ChangeTest, ThreadsThatAreThereAndThreadsToComeAreSampledByTimersAfterwards) {
  ASSERT_EQ(RunInChild([] {
              Start(&CountAndChange);
              std::atomic<int> stage{0};
              const auto await = [&stage](int wanted) {
                while (stage.load() < wanted) usleep(100);
              };
              std::thread busy([&] {
                tids[0] = Tid();
                StartThreadSampling();
                while (stage.load() < 1) BurnInUserCode(kMs);
                outcome->values[1] = PercentSampled();
                StopThreadSampling();
              });
              std::thread asleep([&] {
                tids[1] = Tid();
                StartThreadSampling();
                await(1);
                outcome->values[2] = PercentSampled();
                StopThreadSampling();
              });
              tids[2] = Tid();
              while (tids[0] == 0 || tids[1] == 0) usleep(100);
              is_to_change = true;
              while (outcome->values[0] == 0 && GetParam() != SamplingSource::kCpuTimer) {
                BurnInUserCode(kMs);
              }
              stage = 1;
              outcome->values[3] = PercentSampled();
              busy.join();
              asleep.join();
              std::thread later([] {
                StartThreadSampling();
                outcome->values[4] = PercentSampled();
                StopThreadSampling();
              });
              later.join();
              outcome->values[5] = CountDescriptorsOfPerf();
              outcome->values[6] = TimersOfProcess();
              outcome->counters = ReadSamplerCounters();
              StopSampler();
            }),
            0);
  const bool was_timer = GetParam() == SamplingSource::kCpuTimer;
  EXPECT_EQ(outcome->values[0], was_timer ? 0u : 1u);
  for (int i = 1; i <= 4; ++i) {
    EXPECT_NEAR(static_cast<double>(outcome->values[i]), 100, 10) << i;
  }
  EXPECT_EQ(outcome->values[5], 0u);
  EXPECT_EQ(outcome->values[6], 1u) << "timers of threads that have ended, or of one two";
  EXPECT_EQ(outcome->counters.unsampled_threads, 0u);
  EXPECT_EQ(outcome->counters.foreign_signals, 0u);
}

TEST_P(ChangeTest, AChangeAfterTheEndOfSamplingDoesNothing) {
  ASSERT_EQ(RunInChild([] {
              Start(&CountHere);
              StopSampler();
              outcome->values[0] = ChangeToCpuTimers() ? 1 : 0;
              outcome->values[1] = TimersOfProcess();
              outcome->values[2] = PeriodsOfBurning(50 * kMs);
            }),
            0);
  EXPECT_EQ(outcome->values[0], 0u);
  EXPECT_EQ(outcome->values[1], 0u);
  EXPECT_EQ(outcome->values[2], 0u);
}

// The thread has a timer of which it does not know.
TEST_P(ChangeTest, SamplingCanEndBeforeAThreadHasHadItsFirstSample) {
  ASSERT_EQ(RunInChild([] {
              Start(&CountAndChange);
              std::atomic<int> stage{0};
              std::thread asleep([&] {
                tids[0] = Tid();
                StartThreadSampling();
                while (stage.load() < 1) usleep(1000);
                outcome->values[1] = PeriodsOfBurning(100 * kMs);
                outcome->values[2] = TimersOfProcess();
                StopThreadSampling();
              });
              while (tids[0] == 0) usleep(100);
              tids[1] = Tid();
              is_to_change = true;
              BurnInUserCode(20 * kMs);
              StopSampler();
              stage = 1;
              asleep.join();
            }),
            0);
  EXPECT_EQ(outcome->values[1], 0u);
  EXPECT_EQ(outcome->values[2], 0u);
}

}  // namespace
}  // namespace coz::sampler
