// What a visit to a progress point costs the program by each way of counting, and what a read of the count costs the supervisor.
//
//   ./bazelw run -c opt //bench/points:visit_benchmark
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "coz/points/code_places.h"
#include "coz/points/visit_counter.h"
#include "coz/runtime/coz.h"

extern "C" {
__attribute__((noipa)) void VisitedByBenchmark() { asm volatile(""); }
}

namespace coz {
namespace {

void VisitUncounted(benchmark::State& state) {
  for (auto _ : state) VisitedByBenchmark();
}
BENCHMARK(VisitUncounted);

// A mark of coz.h without the profiler; profiled, it is an increment more (bench/overhead).
void VisitMark(benchmark::State& state) {
  for (auto _ : state) {
    VisitedByBenchmark();
    COZ_PROGRESS_NAMED("visits");
  }
}
BENCHMARK(VisitMark);

void VisitBreakpoint(benchmark::State& state) {
  absl::StatusOr<VisitCounter> counter = VisitCounter::ForBreakpoint(getpid(), false);
  absl::Status status = counter.status();
  if (status.ok()) status = counter->Arm(reinterpret_cast<uint64_t>(&VisitedByBenchmark));
  if (!status.ok()) return state.SkipWithError(std::string(status.message()).c_str());
  for (auto _ : state) VisitedByBenchmark();
  if (counter->Read() < static_cast<uint64_t>(state.iterations())) {
    state.SkipWithError("visits were lost");
  }
}
BENCHMARK(VisitBreakpoint);

void VisitProbe(benchmark::State& state) {
  const absl::StatusOr<std::unique_ptr<CodePlaces>> self = CodePlaces::Open("/proc/self/exe");
  if (!self.ok()) return state.SkipWithError("cannot read this program");
  std::string note;
  const auto places = (*self)->Find(*ParsePointSpec("VisitedByBenchmark"), &note);
  if (!places.ok()) return state.SkipWithError(std::string(places.status().message()).c_str());
  const absl::StatusOr<VisitCounter> counter =
      VisitCounter::ForProbe("/proc/self/exe", places->front().probe_offset);
  if (!counter.ok()) {
    return state.SkipWithError(std::string(counter.status().message()).c_str());
  }
  for (auto _ : state) VisitedByBenchmark();
}
BENCHMARK(VisitProbe);

void ReadBreakpointCount(benchmark::State& state) {
  const absl::StatusOr<VisitCounter> counter = VisitCounter::ForBreakpoint(getpid(), false);
  if (!counter.ok()) {
    return state.SkipWithError(std::string(counter.status().message()).c_str());
  }
  for (auto _ : state) benchmark::DoNotOptimize(counter->Read());
}
BENCHMARK(ReadBreakpointCount);

}  // namespace
}  // namespace coz
