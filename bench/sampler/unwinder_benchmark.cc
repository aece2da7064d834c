// Measures what one unwound frame costs, by our stepper and by libunwind, with warm and cold rules.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <ucontext.h>

#include <cstdlib>

#include "coz/sampler/unwind/eh_frame_stepper.h"
#include "coz/sampler/unwind/libunwind_stepper.h"
#include "coz/sampler/unwind/object_finder.h"
#include "coz/sampler/unwind/stack_reader.h"

namespace coz {
namespace {

constexpr int kDepth = 30;

ucontext_t interrupted;  // within qsort's callback, below kDepth frames
int frames_there = 0;

int WalkByEhFrame(const ucontext_t& context, bool forget_rules) {
  if (forget_rules) sampler::ForgetCachedRules();
  sampler::Frame frame = sampler::FrameOf(context);
  sampler::StackReader stack(frame.registers[sampler::kRsp]);
  int frames = 0;
  while (sampler::StepOut(&stack, &frame) == sampler::StepResult::kStepped) ++frames;
  return frames;
}

int WalkByLibunwind(const ucontext_t& context) {
  int frames = 0;
  sampler::WalkWithLibunwind(
      &context, 1 << 20,
      +[](uint64_t, void* count) {
        ++*static_cast<int*>(count);
        return false;
      },
      &frames);
  return frames;
}

benchmark::State* running = nullptr;
void (*body)(benchmark::State* state) = nullptr;

int RunInCallback(const void*, const void*) {
  getcontext(&interrupted);
  body(running);
  return 0;
}

__attribute__((noinline)) int GoDown(int depth) {
  if (depth == 0) {
    int numbers[2] = {1, 2};
    qsort(numbers, 2, sizeof(int), &RunInCallback);
    return 0;
  }
  int result = GoDown(depth - 1);
  asm volatile("" : "+r"(result));
  return result + 1;
}

void RunBelow(benchmark::State& state, void (*what)(benchmark::State*)) {
  sampler::InitObjectFinder();
  sampler::RememberStackOfThisThread();
  running = &state;
  body = what;
  GoDown(kDepth);
  state.counters["frames"] = frames_there;
  state.counters["ns_per_frame"] = benchmark::Counter(
      static_cast<double>(frames_there) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void BM_EhFrameWarm(benchmark::State& state) {
  RunBelow(
      state, +[](benchmark::State* s) {
        for (auto _ : *s)
          benchmark::DoNotOptimize(frames_there = WalkByEhFrame(interrupted, false));
      });
}
BENCHMARK(BM_EhFrameWarm);

void BM_EhFrameCold(benchmark::State& state) {
  RunBelow(
      state, +[](benchmark::State* s) {
        for (auto _ : *s) benchmark::DoNotOptimize(frames_there = WalkByEhFrame(interrupted, true));
      });
}
BENCHMARK(BM_EhFrameCold);

void BM_LibunwindWarm(benchmark::State& state) {
  if (!sampler::InitLibunwind()) return state.SkipWithError("libunwind.so.8 cannot be loaded");
  RunBelow(
      state, +[](benchmark::State* s) {
        for (auto _ : *s) benchmark::DoNotOptimize(frames_there = WalkByLibunwind(interrupted));
      });
}
BENCHMARK(BM_LibunwindWarm);

}  // namespace
}  // namespace coz
