// Measures what four things cost: a visit to a progress point, by each way of counting; a place
// that is never visited, at a switch between processes; a breakpoint, in code beside it; and, for
// the supervisor, a read of the count.
//
//   ./bazelw run -c opt //bench/points:visit_benchmark
#include <benchmark/benchmark.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "coz/patch/code_patcher.h"
#include "coz/patch/place_plan.h"
#include "coz/patch/testing/patched_self.h"
#include "coz/points/code_places.h"
#include "coz/points/lost_breakpoints.h"
#include "coz/points/visit_counter.h"
#include "coz/runtime/coz.h"

extern "C" {
// Saves a register, as functions do, and has a place for a line within.
void VisitedInBenchmark();
extern const uint8_t EndOfVisitedInBenchmark[];
asm(R"(
.text
.p2align 4
.globl VisitedInBenchmark, EndOfVisitedInBenchmark
.type VisitedInBenchmark, @function
VisitedInBenchmark:
  push %rbx
  sub $16, %rsp
  mov %rdi, %rbx
  lea 1(%rbx), %rax
  add $16, %rsp
  pop %rbx
  ret
EndOfVisitedInBenchmark:
.size VisitedInBenchmark, . - VisitedInBenchmark
)");
__attribute__((noipa)) void VisitedByBenchmark() { asm volatile(""); }
__attribute__((noipa)) void VisitedByNobody() { asm volatile("nop"); }
}

namespace coz {
namespace {

constexpr size_t kWithin = 5;  // the third instruction

void VisitUncounted(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) VisitedByBenchmark();
}
BENCHMARK(VisitUncounted);

// A mark of coz.h without the profiler. With the profiler it costs one more increment
// (bench/overhead).
void VisitMark(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    VisitedByBenchmark();
    COZ_PROGRESS_NAMED("visits");
  }
}
BENCHMARK(VisitMark);

// The place and the way to count it. Instructions within a function are where no call is.
struct ChangedPlace {
  const uint8_t* function;
  size_t bytes;
  size_t offset;
  patch::PlanLimits limits;
};

patch::PlanLimits AllowAll() { return {}; }
patch::PlanLimits AllowSharedJump() {
  patch::PlanLimits limits;
  limits.allow_five_bytes = false;
  return limits;
}
patch::PlanLimits AllowTrap() {
  patch::PlanLimits limits;
  limits.allow_jump = false;
  return limits;
}

// Inserts it for the life of the benchmark.
class ChangedCode {
 public:
  explicit ChangedCode(const ChangedPlace& place) {
    patch::self::HandleTraps();
    const patch::PlacePlan plan =
        patch::PlanPlace({place.function, place.bytes, place.bytes, place.offset}, place.limits);
    const patch::Way wanted = place.limits.allow_jump ? patch::Way::kJump : patch::Way::kTrap;
    if (plan.way != wanted) return;
    const auto patch =
        patch::self::PatchFor(plan, reinterpret_cast<uint64_t>(place.function) + plan.offset, 0);
    if (!patch.has_value()) return;
    address_ = patch->address;
    is_there_ = patch::InsertPatch(*patch) == patch::PatchResult::kDone;
  }
  ~ChangedCode() {
    if (is_there_) patch::RemovePatch(address_);
  }
  ChangedCode(const ChangedCode&) = delete;
  ChangedCode& operator=(const ChangedCode&) = delete;
  bool is_there() const { return is_there_; }

 private:
  uint64_t address_ = 0;
  bool is_there_ = false;
};

// What the kernel takes of a visit by an int3.
void TrapWithEmptyHandler(benchmark::State& state) {
  struct sigaction action = {};
  struct sigaction old = {};
  action.sa_sigaction = [](int, siginfo_t*, void*) {};
  action.sa_flags = static_cast<int>(SA_SIGINFO);
  sigaction(SIGTRAP, &action, &old);
  for ([[maybe_unused]] auto _ : state) asm volatile("int3");
  sigaction(SIGTRAP, &old, nullptr);
}
BENCHMARK(TrapWithEmptyHandler);

void VisitChanged(benchmark::State& state, size_t offset, const patch::PlanLimits& limits) {
  const auto* function = reinterpret_cast<const uint8_t*>(&VisitedInBenchmark);
  const ChangedCode changed(
      {function, static_cast<size_t>(EndOfVisitedInBenchmark - function), offset, limits});
  if (!changed.is_there()) return state.SkipWithError("the code could not be changed");
  const uint64_t before = patch::self::SharedVisits(0);
  for ([[maybe_unused]] auto _ : state) VisitedInBenchmark();
  if (patch::self::SharedVisits(0) - before != static_cast<uint64_t>(state.iterations())) {
    state.SkipWithError("visits were lost");
  }
}
void VisitUnchanged(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) VisitedInBenchmark();
}
BENCHMARK(VisitUnchanged);
BENCHMARK_CAPTURE(VisitChanged, JumpAtTheEntry, 0, AllowAll());
BENCHMARK_CAPTURE(VisitChanged, JumpWithin, kWithin, AllowAll());
BENCHMARK_CAPTURE(VisitChanged, JumpThatSharesBytes, kWithin, AllowSharedJump());
BENCHMARK_CAPTURE(VisitChanged, Int3AtTheEntry, 0, AllowTrap());
BENCHMARK_CAPTURE(VisitChanged, Int3Within, kWithin, AllowTrap());

// A change and its removal, with one thread.
void InsertAndRemove(benchmark::State& state, const patch::PlanLimits& limits) {
  const auto* function = reinterpret_cast<const uint8_t*>(&VisitedInBenchmark);
  const auto bytes = static_cast<size_t>(EndOfVisitedInBenchmark - function);
  const patch::PlacePlan plan = patch::PlanPlace({function, bytes, bytes, 0}, limits);
  const auto patch =
      patch::self::PatchFor(plan, reinterpret_cast<uint64_t>(function) + plan.offset, 0);
  if (!patch.has_value()) return state.SkipWithError("the code could not be changed");
  for ([[maybe_unused]] auto _ : state) {
    if (patch::InsertPatch(*patch) != patch::PatchResult::kDone ||
        patch::RemovePatch(patch->address) != patch::PatchResult::kDone) {
      return state.SkipWithError("the code could not be changed");
    }
  }
}
BENCHMARK_CAPTURE(InsertAndRemove, Jump, AllowAll());
BENCHMARK_CAPTURE(InsertAndRemove, Int3, AllowTrap());

void VisitBreakpoint(benchmark::State& state) {
  const points::LostBreakpointGuard guard;
  absl::StatusOr<points::VisitCounter> counter =
      points::VisitCounter::ForBreakpoint(getpid(), false);
  absl::Status status = counter.status();
  if (status.ok()) status = counter->Arm(reinterpret_cast<uint64_t>(&VisitedByBenchmark));
  if (!status.ok()) return state.SkipWithError(std::string(status.message()).c_str());
  for ([[maybe_unused]] auto _ : state) VisitedByBenchmark();
  if (counter->Read() < static_cast<uint64_t>(state.iterations())) {
    state.SkipWithError("visits were lost");
  }
}
BENCHMARK(VisitBreakpoint);

absl::StatusOr<points::VisitCounter> Probe(const char* function) {
  const absl::StatusOr<std::unique_ptr<points::CodePlaces>> self =
      points::CodePlaces::Open("/proc/self/exe");
  if (!self.ok()) return self.status();
  std::string note;
  const auto places =
      (*self)->Find(*points::ParsePointSpec(function), points::InlinedCopies::kLeave, &note);
  if (!places.ok()) return places.status();
  return points::VisitCounter::ForProbe("/proc/self/exe", places->front().probe_offset);
}

void VisitProbe(benchmark::State& state) {
  const absl::StatusOr<points::VisitCounter> counter = Probe("VisitedByBenchmark");
  if (!counter.ok()) {
    return state.SkipWithError(std::string(counter.status().message()).c_str());
  }
  for ([[maybe_unused]] auto _ : state) VisitedByBenchmark();
}
BENCHMARK(VisitProbe);

// A child process on the same CPU that answers each byte. So each turn has two switches between
// processes.
class Partner {
 public:
  Partner() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
    if (pipe(there_) != 0 || pipe(back_) != 0 || (pid_ = fork()) < 0) abort();
    if (pid_ != 0) return;
    for (char byte;;) {
      if (read(there_[0], &byte, 1) != 1 || write(back_[1], &byte, 1) != 1) _exit(0);
    }
  }
  ~Partner() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    for (const int fd : {there_[0], there_[1], back_[0], back_[1]}) close(fd);
    sched_setaffinity(0, sizeof(before_), &before_);
  }
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;

  void Turn() const {
    char byte = 0;
    if (write(there_[1], &byte, 1) != 1 || read(back_[0], &byte, 1) != 1) abort();
  }

 private:
  cpu_set_t before_;
  int there_[2];
  int back_[2];
  pid_t pid_;
};

void TwoSwitchesUncounted(benchmark::State& state) {
  const Partner partner;
  for ([[maybe_unused]] auto _ : state) partner.Turn();
}
BENCHMARK(TwoSwitchesUncounted)->UseRealTime();

void TwoSwitchesWithBreakpoint(benchmark::State& state) {
  absl::StatusOr<points::VisitCounter> counter =
      points::VisitCounter::ForBreakpoint(getpid(), true);
  absl::Status status = counter.status();
  if (status.ok()) status = counter->Arm(reinterpret_cast<uint64_t>(&VisitedByNobody));
  if (!status.ok()) return state.SkipWithError(std::string(status.message()).c_str());
  const Partner partner;
  for ([[maybe_unused]] auto _ : state) partner.Turn();
}
BENCHMARK(TwoSwitchesWithBreakpoint)->UseRealTime();

void TwoSwitchesWithProbe(benchmark::State& state) {
  const absl::StatusOr<points::VisitCounter> counter = Probe("VisitedByNobody");
  if (!counter.ok()) {
    return state.SkipWithError(std::string(counter.status().message()).c_str());
  }
  const Partner partner;
  for ([[maybe_unused]] auto _ : state) partner.Turn();
}
BENCHMARK(TwoSwitchesWithProbe)->UseRealTime();

// How many times as long a short loop takes in the same 64 bytes of code is the counter.
void LoopBesideBreakpoint(benchmark::State& state) {
  double times_as_long = 1;
  for ([[maybe_unused]] auto _ : state) times_as_long = points::MeasureBreakpointSlowdown();
  state.counters["times_as_long"] = times_as_long;
}
BENCHMARK(LoopBesideBreakpoint);

void ReadBreakpointCount(benchmark::State& state) {
  const absl::StatusOr<points::VisitCounter> counter =
      points::VisitCounter::ForBreakpoint(getpid(), false);
  if (!counter.ok()) {
    return state.SkipWithError(std::string(counter.status().message()).c_str());
  }
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(counter->Read());
}
BENCHMARK(ReadBreakpointCount);

}  // namespace
}  // namespace coz
