#include "coz/supervisor/doctor/sampling_trial.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "coz/base/clock.h"
#include "coz/sampler/sampler.h"

namespace coz::supervisor {
namespace {

constexpr uint64_t kWorkNs = 200'000'000;
// For the cost, samples come so often that what they take stands out of what else varies.
constexpr uint64_t kDensePeriodNs = 100'000;
constexpr int kRounds = 12;
constexpr uint64_t kRoundNs = 8'000'000;
// With fewer samples in a round, their cost is lost in the noise.
constexpr uint64_t kEnoughSamples = 20;

uint64_t ThreadCpuNs() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

void Work(uint64_t steps) {
  uint64_t x = steps;
  for (uint64_t i = 0; i < steps; ++i) x = x * 6364136223846793005u + (x >> 29);
  volatile uint64_t sink = x;
  (void)sink;
}

uint64_t CpuNsOf(uint64_t steps) {
  const uint64_t start_ns = ThreadCpuNs();
  Work(steps);
  return ThreadCpuNs() - start_ns;
}

void OnSample(const sampler::Sample&) {}

sampler::SamplerStatus Start(uint64_t period_ns) {
  sampler::SamplerOptions options;
  options.sampling_period_ns = period_ns;
  options.callback = OnSample;
  return sampler::StartSampler(options);
}

void MeasurePeriod(uint64_t period_ns, SamplingTrial* trial) {
  trial->status = Start(period_ns);
  if (trial->status.source == sampler::SamplingSource::kNone) return;
  const uint64_t start_ns = ThreadCpuNs();
  const uint64_t samples_before = sampler::ReadSamplerCounters().samples;
  while (ThreadCpuNs() < start_ns + kWorkNs) Work(10'000);
  const uint64_t samples = sampler::ReadSamplerCounters().samples - samples_before;
  if (samples != 0) trial->real_period_ns = (ThreadCpuNs() - start_ns) / samples;
}

// The least CPU time of some rounds of the same work, without samples and with them: what else runs
// only adds to it.
void MeasureCost(SamplingTrial* trial) {
  constexpr uint64_t kSteps = 1 << 20;
  const uint64_t steps =
      std::max<uint64_t>(1, kSteps * kRoundNs / std::max<uint64_t>(1, CpuNsOf(kSteps)));
  uint64_t bare_ns = std::numeric_limits<uint64_t>::max();
  for (int i = 0; i < kRounds; ++i) bare_ns = std::min(bare_ns, CpuNsOf(steps));
  if (Start(kDensePeriodNs).source == sampler::SamplingSource::kNone) return;
  uint64_t sampled_ns = std::numeric_limits<uint64_t>::max();
  uint64_t samples = 0;
  for (int i = 0; i < kRounds; ++i) {
    const uint64_t before = sampler::ReadSamplerCounters().samples;
    const uint64_t took_ns = CpuNsOf(steps);
    if (took_ns >= sampled_ns) continue;
    sampled_ns = took_ns;
    samples = sampler::ReadSamplerCounters().samples - before;
  }
  if (samples < kEnoughSamples || sampled_ns <= bare_ns) return;
  trial->sample_cost_ns = (sampled_ns - bare_ns) / samples;
}

template <typename Body>
void InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  if (child < 0) return;
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

SamplingTrial TrySampling(uint64_t period_ns) {
  void* const memory = mmap(nullptr, sizeof(SamplingTrial), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {};
  auto* const shared = new (memory) SamplingTrial;
  shared->asked_period_ns = period_ns;
  InChild([&] { MeasurePeriod(period_ns, shared); });
  if (shared->status.source != sampler::SamplingSource::kNone) {
    InChild([&] { MeasureCost(shared); });
  }
  const SamplingTrial trial = *shared;
  munmap(memory, sizeof(SamplingTrial));
  return trial;
}

}  // namespace coz::supervisor
