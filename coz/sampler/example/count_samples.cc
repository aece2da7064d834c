// Samples itself for some CPU time, and prints how many sampling periods its samples stand for.
// sampler.h shows the lines that start the sampler.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>

#include "coz/sampler/sampler.h"
#include "coz/sampler/sampler_status.h"

namespace {

// The callback runs in a signal handler: no heap and no lock.
std::atomic<uint64_t> periods{0};

void WorkForHalfASecondOfCpuTime() {
  const clock_t end = clock() + CLOCKS_PER_SEC / 2;
  while (clock() < end) {
  }
}

}  // namespace

int main() {
  coz::sampler::SamplerOptions options;
  options.callback = +[](const coz::sampler::Sample& sample) { periods += sample.weight; };
  const coz::sampler::SamplerStatus status = coz::sampler::StartSampler(options);
  const std::string refused = coz::sampler::ExplainSamplerStatus(status);
  if (!refused.empty()) fprintf(stderr, "%s\n", refused.c_str());
  if (status.source == coz::sampler::SamplingSource::kNone) return 1;
  WorkForHalfASecondOfCpuTime();
  coz::sampler::StopSampler();
  printf("%llu periods\n", static_cast<unsigned long long>(periods.load()));
  return 0;
}
