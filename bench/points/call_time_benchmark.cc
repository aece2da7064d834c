// Measures what a call costs that is counted, or timed, for each thread (coz run --count, --time),
// or by caller (--api).
//
//   ./bazelw run -c opt //bench/points:call_time_benchmark
#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "coz/base/clock.h"
#include "coz/patch/code_patcher.h"
#include "coz/patch/function_ends.h"
#include "coz/patch/place_plan.h"
#include "coz/patch/testing/patched_self.h"
#include "coz/runtime/api_calls.h"
#include "coz/runtime/call_routines.h"
#include "coz/runtime/patched_code.h"
#include "coz/shared/control_block.h"

extern "C" {
// Saves registers, as functions do. The second returns where no jump has room.
void CalledInBenchmark();
extern const uint8_t EndOfCalledInBenchmark[];
void TightInBenchmark(uint64_t which);
extern const uint8_t EndOfTightInBenchmark[];
asm(R"(
.text
.p2align 4
.globl CalledInBenchmark, EndOfCalledInBenchmark
.type CalledInBenchmark, @function
CalledInBenchmark:
  push %rbx
  sub $16, %rsp
  mov %rdi, %rbx
  lea 1(%rbx), %rax
  add $16, %rsp
  pop %rbx
  ret
EndOfCalledInBenchmark:
.size CalledInBenchmark, . - CalledInBenchmark
.p2align 4
.globl TightInBenchmark, EndOfTightInBenchmark
.type TightInBenchmark, @function
TightInBenchmark:
  test %rdi, %rdi
  lea 1(%rdi), %rax
  je 1f
  nop
1:
  xor %eax, %eax
  ret
2:
  add $2, %rax
  jmp 2b
EndOfTightInBenchmark:
.size TightInBenchmark, . - TightInBenchmark
)");
}

namespace coz {
namespace {

namespace internal = runtime::runtime_internal;

constexpr uint32_t kPoint = 3;
constexpr uint32_t kFunction = 1;

void OnTrap(int, siginfo_t* info, void* context) {
  if (!patch::TakeTrap(*info, static_cast<ucontext_t*>(context))) abort();
}

struct Function {
  const uint8_t* code;
  size_t bytes;
};

// What is done at the function: as --count, --time and --api do, the last without ends, with them,
// and for a latency point.
enum class Kind { kCounted, kTimed, kApiCounted, kApiTimed, kApiLatency };

// Never freed: call sites remember it.
shared::ControlBlock* Block() {
  static void* const block = mmap(nullptr, sizeof(shared::ControlBlock), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) abort();
  return static_cast<shared::ControlBlock*>(block);
}

// Changes the function for the life of the benchmark; the calling thread has a slot meanwhile.
class ChangedFunction {
 public:
  ChangedFunction(const Function& function, Kind kind) : function_(function) {
    const bool has_latency = kind == Kind::kApiLatency;
    const bool is_timed = kind == Kind::kTimed || kind == Kind::kApiTimed || has_latency;
    const bool is_api = kind != Kind::kCounted && kind != Kind::kTimed;
    struct sigaction action = {};
    action.sa_sigaction = OnTrap;
    action.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESTART);
    sigaction(SIGTRAP, &action, nullptr);
    slot_->state = shared::ThreadState::kRunning;
    internal::CountVisitsIn(slot_.get());
    internal::PublishCallRoutines(process_.get());
    Block()->api.count = 1;
    strcpy(Block()->api.functions[0].name, "library!Called");
    Block()->api.functions[0].latency = has_latency ? 1 : 0;
    internal::PublishApiRoutines(Block(), process_.get());
    patch::CallEdge begin = {
        process_->begin_call, process_->begin_call_in_handler, kPoint << 8 | kFunction, {0, 0}};
    if (is_api) {
      begin = {is_timed ? process_->begin_api_call : process_->count_api_call,
               process_->begin_api_call_in_handler,
               0,
               {0, 0}};
      end_ = shared::kFirstApiEnd | (has_latency ? shared::kEndHasLatency : 0);
    }
    // Before the code is another one.
    const patch::FunctionEnds found = patch::FindFunctionEnds(function.code, function.bytes);
    is_there_ = Insert(0, kind == Kind::kCounted ? patch::CallEdge{} : begin);
    if (!is_timed) return;
    is_there_ &= !found.ends.empty();
    for (const auto& candidates : found.ends) is_there_ &= InsertEnd(candidates);
  }
  ~ChangedFunction() {
    for (const uint64_t address : addresses_) patch::RemovePatch(address);
    internal::CountVisitsIn(nullptr);
  }
  ChangedFunction(const ChangedFunction&) = delete;
  ChangedFunction& operator=(const ChangedFunction&) = delete;

  bool is_there() const { return is_there_; }
  uint64_t calls() const { return slot_->visits[kPoint]; }
  uint64_t timed() const { return shared::CallSumsOf(slot_->timers, kFunction).calls; }
  // The block's first point, and its first timed function.
  uint64_t api_calls() const { return slot_->visits[0]; }
  uint64_t api_timed() const { return shared::CallSumsOf(slot_->timers, 0).calls; }
  uint64_t with_latency() const { return slot_->timers.latencies[0].calls; }

  // From now on delay accrues in the calling thread.
  void BeginExperiment() {
    constexpr uint64_t kSelection = 1;
    Block()->ledger.selection = kSelection;
    slot_->ledger.stretches.SetInProgressForTest(kSelection, 0, MonotonicNowNs());
  }

 private:
  bool InsertEnd(const std::vector<patch::FunctionEnd>& candidates) {
    for (const bool allow_trap : {false, true}) {
      for (const patch::FunctionEnd& end : candidates) {
        const patch::CallEdge edge = {process_->end_call, process_->end_call_in_handler, end_,
                                      end.frame};
        if (Insert(end.offset, edge, allow_trap)) return true;
      }
    }
    return false;
  }

  bool Insert(size_t offset, const patch::CallEdge& edge, bool allow_trap = false) {
    patch::PlanLimits limits;
    limits.allow_trap = allow_trap;
    const patch::PlacePlan plan =
        patch::PlanPlace({function_.code, function_.bytes, function_.bytes, offset}, limits);
    if (plan.way == patch::Way::kNone) return false;
    const uint64_t address = reinterpret_cast<uint64_t>(function_.code) + plan.offset;
    const patch::CounterPlace counter = {
        internal::CountersFsOffset(),
        static_cast<int32_t>(offsetof(shared::ThreadSlot, visits) + kPoint * sizeof(uint64_t)),
        0,
        0,
        {},
        0};
    const auto built = patch::self::PatchFor(plan, address, counter, 0, edge);
    if (!built.has_value() || patch::InsertPatch(*built) != patch::PatchResult::kDone) return false;
    addresses_.push_back(address);
    return true;
  }

  const Function function_;
  std::unique_ptr<shared::ThreadSlot> slot_ = std::make_unique<shared::ThreadSlot>();
  std::unique_ptr<shared::ProcessSlot> process_ = std::make_unique<shared::ProcessSlot>();
  std::vector<uint64_t> addresses_;
  uint32_t end_ = kFunction;
  bool is_there_ = false;
};

Function Called() {
  const auto* code = reinterpret_cast<const uint8_t*>(&CalledInBenchmark);
  return {code, static_cast<size_t>(EndOfCalledInBenchmark - code)};
}
Function Tight() {
  const auto* code = reinterpret_cast<const uint8_t*>(&TightInBenchmark);
  return {code, static_cast<size_t>(EndOfTightInBenchmark - code)};
}

void CallUnchanged(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) CalledInBenchmark();
}
BENCHMARK(CallUnchanged);

void CallCounted(benchmark::State& state) {
  const ChangedFunction changed(Called(), Kind::kCounted);
  if (!changed.is_there()) return state.SkipWithError("the code could not be changed");
  for ([[maybe_unused]] auto _ : state) CalledInBenchmark();
  if (changed.calls() != static_cast<uint64_t>(state.iterations())) {
    state.SkipWithError("calls were lost");
  }
}
BENCHMARK(CallCounted);

void CheckTimed(const ChangedFunction& changed, benchmark::State& state) {
  const auto calls = static_cast<uint64_t>(state.iterations());
  if (changed.calls() != calls || changed.timed() != calls) state.SkipWithError("calls were lost");
}

void CallTimed(benchmark::State& state) {
  const ChangedFunction changed(Called(), Kind::kTimed);
  if (!changed.is_there()) return state.SkipWithError("the code could not be changed");
  for ([[maybe_unused]] auto _ : state) CalledInBenchmark();
  CheckTimed(changed, state);
}
BENCHMARK(CallTimed);

// In no object of the program, as calls within one are none into a library.
const uint8_t* MapCalled() {
  constexpr size_t kPageBytes = 4096;
  void* const page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) abort();
  memcpy(page, Called().code, Called().bytes);
  return static_cast<const uint8_t*>(page);
}

Function CalledElsewhere() {
  static const uint8_t* const code = MapCalled();
  return {code, Called().bytes};
}

auto CallOf(const Function& function) {
  return reinterpret_cast<void (*)()>(reinterpret_cast<uint64_t>(function.code));
}

void CallIntoLibraryUnchanged(benchmark::State& state) {
  const auto call = CallOf(CalledElsewhere());
  for ([[maybe_unused]] auto _ : state) call();
}
BENCHMARK(CallIntoLibraryUnchanged);

// `accrues`: the thread runs the unit of an experiment.
void CallIntoLibrary(benchmark::State& state, Kind kind, bool accrues) {
  const Function function = CalledElsewhere();
  const auto call = CallOf(function);
  ChangedFunction changed(function, kind);
  if (!changed.is_there()) return state.SkipWithError("the code could not be changed");
  if (accrues) changed.BeginExperiment();
  for ([[maybe_unused]] auto _ : state) call();
  const auto calls = static_cast<uint64_t>(state.iterations());
  const uint64_t timed = kind == Kind::kApiCounted ? 0 : calls;
  const uint64_t with_latency = kind == Kind::kApiLatency ? calls : 0;
  if (changed.api_calls() != calls || changed.api_timed() != timed ||
      changed.with_latency() != with_latency) {
    state.SkipWithError("calls were lost");
  }
}
BENCHMARK_CAPTURE(CallIntoLibrary, Counted, Kind::kApiCounted, false);
BENCHMARK_CAPTURE(CallIntoLibrary, Timed, Kind::kApiTimed, false);
BENCHMARK_CAPTURE(CallIntoLibrary, OfLatencyPoint, Kind::kApiLatency, false);
BENCHMARK_CAPTURE(CallIntoLibrary, OfLatencyPointInExperiment, Kind::kApiLatency, true);

void CallTimedWithInt3AtTheEnd(benchmark::State& state) {
  const ChangedFunction changed(Tight(), Kind::kTimed);
  if (!changed.is_there()) return state.SkipWithError("the code could not be changed");
  for ([[maybe_unused]] auto _ : state) TightInBenchmark(1);
  CheckTimed(changed, state);
}
BENCHMARK(CallTimedWithInt3AtTheEnd);

}  // namespace
}  // namespace coz
