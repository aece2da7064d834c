// Sampling with the time in the kernel, which a sandbox or an ordinary user may be denied.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "coz/sampler/sampler.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/in_child.h"

namespace coz::sampler {
namespace {

using testing::RunInChild;
using testing::SharedValue;

constexpr uint64_t kMs = 1'000'000;

struct Outcome {
  SamplerStatus status;
  SamplerCounters counters;
  uint64_t cpu_ns;
  std::atomic<uint64_t> heavy_samples;
};

Outcome* outcome = nullptr;

uint64_t ThreadCpuNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 * kMs + static_cast<uint64_t>(now.tv_nsec);
}

// Nearly all of its time is spent in the kernel, in calls of many periods each.
void BurnInKernel() {
  std::vector<char> bytes(4 << 20);
  const int random = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  for (int i = 0; i < 20; ++i) {
    if (read(random, bytes.data(), bytes.size()) < 0) _exit(5);
  }
  close(random);
}

void Start(SamplingSource source, uint64_t period_ns) {
  SamplerOptions options;
  options.sampling_period_ns = period_ns;
  options.source = source;
  options.callback = +[](const Sample& sample) {
    if (sample.weight > 1) ++outcome->heavy_samples;
  };
  outcome->status = StartSampler(options);
}

class SamplerKernelTest : public ::testing::TestWithParam<SamplingSource> {
 protected:
  void SetUp() override {
    if (GetParam() == SamplingSource::kPerfSigtrap) {
      COZ_REQUIRE_CAPABILITY(testing::MissingKernelPerfEvents());
    }
    outcome = &*shared_;
  }

  SharedValue<Outcome> shared_;
};

INSTANTIATE_TEST_SUITE_P(Sources, SamplerKernelTest,
                         ::testing::Values(SamplingSource::kPerfSigtrap,
                                           SamplingSource::kCpuTimer));

TEST_P(SamplerKernelTest, LongSystemCallWeighsAllOfItsPeriods) {
  ASSERT_EQ(RunInChild([] {
              Start(GetParam(), kMs);
              const uint64_t start_ns = ThreadCpuNs();
              BurnInKernel();
              outcome->cpu_ns = ThreadCpuNs() - start_ns;
              StopSampler();
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_TRUE(outcome->status.kernel_included);
  const double periods = static_cast<double>(outcome->cpu_ns) / kMs;
  EXPECT_NEAR(static_cast<double>(outcome->counters.weight), periods, 0.05 * periods + 8);
  EXPECT_GT(outcome->heavy_samples, 5u);
  EXPECT_EQ(outcome->counters.lost_periods, 0u);
}

// A sample every 20 µs: some come in execve itself, whose signal the new program would get.
TEST_P(SamplerKernelTest, AnnouncedExecIsNotKilled) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(RunInChild([] {
                Start(GetParam(), 20'000);
                PrepareForExec();
                execl("/bin/true", "true", nullptr);
                _exit(4);
              }),
              0);
  }
}

TEST(SamplerSetsigKernelTest, TimeInTheKernelIsCountedAsLost) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  SharedValue<Outcome> shared;
  outcome = &*shared;
  ASSERT_EQ(RunInChild([] {
              Start(SamplingSource::kPerfSetsig, kMs);
              const uint64_t start_ns = ThreadCpuNs();
              BurnInKernel();
              for (volatile int i = 0; i < 100 * 1000 * 1000; i = i + 1) {
              }
              outcome->cpu_ns = ThreadCpuNs() - start_ns;
              StopSampler();
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_FALSE(outcome->status.kernel_included);
  EXPECT_GT(outcome->counters.lost_periods, 20u);
  const double periods = static_cast<double>(outcome->cpu_ns) / kMs;
  EXPECT_NEAR(static_cast<double>(outcome->counters.weight + outcome->counters.lost_periods),
              periods, 0.05 * periods + 8);
}

}  // namespace
}  // namespace coz::sampler
