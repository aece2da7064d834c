// What the tests of the sampler share: a process has one sampler, so every test samples in a child
// and judges in the parent.
//
// Shape    a fixture for each source, whose child leaves what it found in `outcome`
// Units    ns of CPU time; periods
// Errors   none
// Threads  a child may have several; `periods_here` is each thread's own
// Signals  Ignore and CountHere run in the sampling signal's handler
// Source   none
#ifndef COZ_SAMPLER_TESTING_SAMPLER_FIXTURE_H_
#define COZ_SAMPLER_TESTING_SAMPLER_FIXTURE_H_

#include <dirent.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "coz/sampler/sampler.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/in_child.h"

namespace coz::sampler {

inline constexpr uint64_t kMs = 1'000'000;

struct Outcome {
  SamplerStatus status;
  SamplerCounters counters;
  std::atomic<uint64_t> values[16];
};

// The child's view; a callback has no argument.
inline Outcome* outcome = nullptr;

inline uint64_t ThreadCpuNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 * kMs + static_cast<uint64_t>(now.tv_nsec);
}

__attribute__((noinline)) inline void BurnInUserCode(uint64_t cpu_ns) {
  const uint64_t end_ns = ThreadCpuNs() + cpu_ns;
  while (ThreadCpuNs() < end_ns) {
    for (volatile int i = 0; i < 100000; i = i + 1) {
    }
  }
}

inline void Ignore(const Sample&) {}

// In periods: under load ticks are rare, and a CPU timer sends fewer, heavier samples.
inline thread_local uint64_t periods_here = 0;
inline void CountHere(const Sample& sample) { periods_here += sample.weight; }

// Until more than so many have been counted here, which takes long where ticks are rare. At most 3
// s of CPU time.
inline void BurnUntilSampled(uint64_t periods) {
  const uint64_t end_ns = ThreadCpuNs() + 3000 * kMs;
  while (periods_here <= periods && ThreadCpuNs() < end_ns) BurnInUserCode(5 * kMs);
}

class SamplerTest : public ::testing::TestWithParam<SamplingSource> {
 protected:
  void SetUp() override {
    if (GetParam() != SamplingSource::kCpuTimer) {
      COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
    }
    outcome = &*shared_;
  }

  static SamplerStatus Start(SampleCallback callback, uint64_t period_ns = kMs) {
    SamplerOptions options;
    options.sampling_period_ns = period_ns;
    options.source = GetParam();
    options.exclude_kernel = true;
    options.callback = callback;
    outcome->status = StartSampler(options);
    return outcome->status;
  }

  testing::SharedValue<Outcome> shared_;
};

// Of this process.
inline uint64_t CountDescriptorsOfPerf() {
  uint64_t count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    char target[128] = {};
    if (readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) > 0) {
      count += std::string(target).find("perf_event") != std::string::npos;
    }
  }
  closedir(folder);
  return count;
}

// Each suite of this fixture is instantiated with this.
inline auto EverySource() {
  return ::testing::Values(SamplingSource::kPerfSigtrap, SamplingSource::kPerfSetsig,
                           SamplingSource::kCpuTimer);
}
inline std::string NameOfSource(const ::testing::TestParamInfo<SamplingSource>& source) {
  std::string name = SamplingSourceName(source.param);
  name[name.find('-')] = '_';
  return name;
}

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_TESTING_SAMPLER_FIXTURE_H_
