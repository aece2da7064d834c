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
  ASSERT_EQ(RunInChild([] {
              Start(&Ignore);
              // Of those with inherited events one in seven is sampled, with a weight of seven: two
              // thousand came out a fifth too low by the draw alone.
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

// With those that have no sample: they ended in the kernel, whose time is not sampled for every
// user.
uint64_t EndedPeriods() {
  const SamplerCounters counters = ReadSamplerCounters();
  return counters.weight + counters.lost_periods;
}

TEST_P(ShortThreadsTest, RestsOfThreadsOfAFewPeriodsAreWeighed) {
  if (GetParam() != SamplingSource::kPerfSigtrap) {
    GTEST_SKIP() << "only inherited events begin their period with the thread";
  }
  ASSERT_EQ(RunInChild([] {
              Start(&Ignore);
              for (int i = 0; i < 100; ++i) {
                if (i == 50) outcome->values[0] = EndedPeriods();
                std::thread([i] {
                  StartThreadSampling();
                  BurnInUserCode(27 * kMs / 10);
                  if (i >= 50) outcome->values[1] += ThreadCpuNs();
                  StopThreadSampling();
                }).join();
              }
              outcome->values[2] = EndedPeriods() - outcome->values[0];
              StopSampler();
            }),
            0);
  const double periods = static_cast<double>(outcome->values[1]) / kMs;
  EXPECT_NEAR(static_cast<double>(outcome->values[2]), periods, 0.15 * periods);
}

TEST_P(ShortThreadsTest, GroupsOfShortThreadsAreTold) {
  if (GetParam() == SamplingSource::kPerfSigtrap) {
    GTEST_SKIP() << "how large its groups are depends on what an event costs";
  }
  ASSERT_EQ(RunInChild([] {
              Start(&Ignore);
              for (int i = 0; i < 40; ++i) {
                std::thread([] {
                  outcome->values[0] = StartThreadSampling();
                  BurnInUserCode(kMs / 5);
                  StopThreadSampling();
                }).join();
              }
              StopSampler();
            }),
            0);
  EXPECT_GE(outcome->values[0], 3u);
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
  const bool is_inherited = GetParam() == SamplingSource::kPerfSigtrap;
  EXPECT_EQ(outcome->counters.unsampled_ns > 2000, is_inherited) << "until they are known as short";
}

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
  EXPECT_GT(outcome->values[0], 0u);
  // Events that are inherited are helped out when the first threads have turned out to be short.
  if (GetParam() == SamplingSource::kPerfSigtrap) {
    EXPECT_GE(outcome->counters.unsampled_ns, uint64_t{16} * 4 * kMs);
  } else {
    EXPECT_EQ(outcome->counters.unsampled_ns, 0u);
  }
}

}  // namespace
}  // namespace coz::sampler
