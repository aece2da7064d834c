#include "coz/supervisor/target/sample_rate_limit.h"

#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

profile::Session SessionOf(profile::SamplingSource source, bool kernel_included) {
  profile::Session session;
  session.set_sampling_source(source);
  session.set_sampling_period_ns(1'000'000);
  session.set_kernel_samples_included(kernel_included);
  return session;
}

profile::Experiment ExperimentOf(uint64_t samples, uint64_t lost_periods) {
  profile::Experiment experiment;
  experiment.set_total_samples(samples);
  experiment.mutable_validity()->set_lost_periods(lost_periods);
  return experiment;
}

constexpr auto kSigtrap = profile::SAMPLING_SOURCE_PERF_SIGTRAP;

TEST(SampleRateLimitTest, ReadsTheFileAndTakesNoneForUnknown) {
  const std::string path = ::testing::TempDir() + "/rate";
  std::ofstream(path) << "50000\n";
  EXPECT_EQ(ReadSampleRateLimit(path), 50'000u);
  EXPECT_EQ(ReadSampleRateLimit(path + ".missing"), 0u);
  std::ofstream(path) << "no number\n";
  EXPECT_EQ(ReadSampleRateLimit(path), 0u);
}

TEST(SampleRateLimitTest, NothingIsThrottledBelowTheLimit) {
  const profile::Session session = SessionOf(kSigtrap, true);
  EXPECT_EQ(MostThrottled(session, ExperimentOf(500, 10), 100'000), 0u);
  EXPECT_EQ(MostThrottled(session, ExperimentOf(500, 10), 1000), 0u);
  EXPECT_EQ(MostThrottled(session, ExperimentOf(500, 10), 0), 0u);
}

TEST(SampleRateLimitTest, ShareBeyondTheLimitMayBeThrottled) {
  EXPECT_EQ(MostThrottled(SessionOf(kSigtrap, true), ExperimentOf(1000, 0), 250), 750u);
  // Without time in the kernel, throttled periods are lost ones.
  EXPECT_EQ(MostThrottled(SessionOf(kSigtrap, false), ExperimentOf(1000, 0), 250), 0u);
  EXPECT_EQ(MostThrottled(SessionOf(kSigtrap, false), ExperimentOf(700, 300), 250), 300u);
  EXPECT_EQ(MostThrottled(SessionOf(kSigtrap, false), ExperimentOf(100, 900), 250), 750u);
}

TEST(SampleRateLimitTest, TimersKnowNoLimit) {
  EXPECT_EQ(MostThrottled(SessionOf(profile::SAMPLING_SOURCE_CPU_TIMER, false),
                          ExperimentOf(700, 300), 250),
            0u);
}

}  // namespace
}  // namespace coz::supervisor
