// Measures what sampling costs the program. It times a fixed piece of work without samples and with
// each source of samples. The period is so short that the handler's share is visible.
#include <benchmark/benchmark.h>
#include <time.h>

#include <cstdint>

#include "coz/sampler/sampler.h"

namespace coz {
namespace {

uint64_t ThreadCpuNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

void Work() {
  for (int i = 0; i < 20 * 1000 * 1000; ++i) benchmark::DoNotOptimize(i);
}

// The shortest of some runs, to leave out what a neighbour on the CPU has added.
uint64_t ShortestWorkNs() {
  uint64_t shortest = ~uint64_t{0};
  for (int i = 0; i < 15; ++i) {
    const uint64_t start_ns = ThreadCpuNs();
    Work();
    const uint64_t took_ns = ThreadCpuNs() - start_ns;
    if (took_ns < shortest) shortest = took_ns;
  }
  return shortest;
}

void BM_Sample(benchmark::State& state) {
  sampler::SamplerOptions options;
  options.sampling_period_ns = 50'000;
  options.source = static_cast<sampler::SamplingSource>(state.range(0));
  options.exclude_kernel = state.range(1) != 0;
  options.callback = +[](const sampler::Sample&) {};
  double per_sample_ns = 0;
  for ([[maybe_unused]] auto _ : state) {
    const uint64_t unsampled_ns = ShortestWorkNs();
    const sampler::SamplerCounters before = sampler::ReadSamplerCounters();
    const sampler::SamplerStatus status = sampler::StartSampler(options);
    if (status.source != options.source) return state.SkipWithError("source refused");
    const uint64_t start_ns = ThreadCpuNs();
    const uint64_t sampled_ns = ShortestWorkNs();
    const uint64_t all_ns = ThreadCpuNs() - start_ns;
    sampler::StopSampler();
    const sampler::SamplerCounters after = sampler::ReadSamplerCounters();
    const double samples_in_one = static_cast<double>(after.samples - before.samples) *
                                  static_cast<double>(sampled_ns) / static_cast<double>(all_ns);
    per_sample_ns =
        (static_cast<double>(sampled_ns) - static_cast<double>(unsampled_ns)) / samples_in_one;
  }
  state.SetLabel(sampler::SamplingSourceName(options.source));
  state.counters["ns_per_sample"] = per_sample_ns;
}
BENCHMARK(BM_Sample)
    ->ArgNames({"source", "exclude_kernel"})
    ->Args({static_cast<int>(sampler::SamplingSource::kPerfSigtrap), 1})
    ->Args({static_cast<int>(sampler::SamplingSource::kPerfSigtrap), 0})
    ->Args({static_cast<int>(sampler::SamplingSource::kPerfSetsig), 1})
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coz
