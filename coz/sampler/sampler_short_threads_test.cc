// Threads that live for less than a few sampling periods.
#include <fstream>
#include <string>
#include <thread>

#include "coz/sampler/sampler.h"
#include "coz/sampler/testing/sampler_fixture.h"
#include "coz/testing/in_child.h"

namespace coz::sampler {
namespace {

using testing::RunInChild;

using ShortThreadsTest = SamplerTest;
INSTANTIATE_TEST_SUITE_P(Sources, ShortThreadsTest, EverySource(), NameOfSource);

TEST_P(ShortThreadsTest, ThreadsShorterThanAPeriodAreSampledByTheirShareOfIt) {
  if (GetParam() != SamplingSource::kPerfSigtrap) {
    GTEST_SKIP() << "only inherited events leave short threads out";
  }
  ASSERT_EQ(RunInChild([] {
              Start(&Ignore);
              // One in seven is sampled, with a weight of seven: two thousand came out a fifth too
              // low by the draw alone.
              for (int i = 0; i < 6000; ++i) {
                if (i == 50) outcome->values[0] = ReadSamplerCounters().weight;
                std::thread([i] {
                  StartThreadSampling();
                  // Every ninth thread is longer than a period.
                  BurnInUserCode((i % 9 == 0 ? 27 : 4) * kMs / 10);
                  if (i >= 50) outcome->values[1] += ThreadCpuNs();
                  StopThreadSampling();
                }).join();
              }
              outcome->values[2] = ReadSamplerCounters().weight - outcome->values[0];
              StopSampler();
            }),
            0);
  const double periods = static_cast<double>(outcome->values[1]) / kMs;
  EXPECT_NEAR(static_cast<double>(outcome->values[2]), periods, 0.25 * periods);
}

TEST_P(ShortThreadsTest, RestsOfThreadsOfAFewPeriodsAreWeighed) {
  if (GetParam() != SamplingSource::kPerfSigtrap) {
    GTEST_SKIP() << "only inherited events begin their period with the thread";
  }
  ASSERT_EQ(RunInChild([] {
              Start(&Ignore);
              for (int i = 0; i < 100; ++i) {
                if (i == 50) outcome->values[0] = ReadSamplerCounters().weight;
                std::thread([i] {
                  StartThreadSampling();
                  BurnInUserCode(27 * kMs / 10);
                  if (i >= 50) outcome->values[1] += ThreadCpuNs();
                  StopThreadSampling();
                }).join();
              }
              outcome->values[2] = ReadSamplerCounters().weight - outcome->values[0];
              StopSampler();
            }),
            0);
  const double periods = static_cast<double>(outcome->values[1]) / kMs;
  EXPECT_NEAR(static_cast<double>(outcome->values[2]), periods, 0.15 * periods);
}

TEST_P(ShortThreadsTest, ShortThreadsLeakNothing) {
  ASSERT_EQ(RunInChild([] {
              Start(&Ignore);
              for (int i = 0; i < 2000; ++i) {
                std::thread([] {
                  StartThreadSampling();
                  StopThreadSampling();
                }).join();
              }
              std::ifstream timers("/proc/self/timers");
              std::string line;
              while (std::getline(timers, line)) outcome->values[0] += line.rfind("ID:", 0) == 0;
              outcome->values[1] = CountDescriptorsOfPerf();
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_EQ(outcome->values[0], GetParam() == SamplingSource::kCpuTimer ? 1u : 0u);
  EXPECT_EQ(outcome->values[1], GetParam() == SamplingSource::kCpuTimer ? 0u : 1u);
  EXPECT_EQ(outcome->counters.unsampled_threads, 0u);
  EXPECT_GT(outcome->counters.unsampled_ns, 2000u);
}

// Its first sample comes after a whole period of a thread's CPU time.
TEST_P(ShortThreadsTest, TimeOfThreadsShorterThanAPeriodIsAccountedFor) {
  constexpr uint64_t kThreads = 40;
  ASSERT_EQ(RunInChild([] {
              Start(&CountHere, 50 * kMs);
              for (uint64_t i = 0; i < kThreads; ++i) {
                std::thread([] {
                  StartThreadSampling();
                  BurnInUserCode(4 * kMs);
                  StopThreadSampling();
                  outcome->values[0] += periods_here;
                }).join();
              }
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  // Events that are inherited are helped out when the first threads have turned out to be short.
  const bool is_helped = GetParam() == SamplingSource::kPerfSigtrap;
  EXPECT_EQ(outcome->values[0] > 0, is_helped);
  EXPECT_GE(outcome->counters.unsampled_ns, (is_helped ? 16 : kThreads) * 4 * kMs);
}

}  // namespace
}  // namespace coz::sampler
