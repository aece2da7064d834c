#include "coz/sampler/unwind/unwinder.h"

#include <atomic>

#include "coz/sampler/unwind/eh_frame_stepper.h"
#include "coz/sampler/unwind/libunwind_stepper.h"
#include "coz/sampler/unwind/object_finder.h"
#include "coz/sampler/unwind/stack_reader.h"

namespace coz::sampler {
namespace {

enum class Ending : uint8_t {
  kFound,
  kReachedEnd,
  kNoCfi,
  kBadCfi,
  kBadMemory,
  kTooDeep,
  kCount,
};

std::atomic<uint64_t> endings[static_cast<int>(Ending::kCount)];

UnwinderKind kind = UnwinderKind::kNone;

std::atomic<bool> follows_frame_pointers{false};

uint64_t CountOf(Ending ending) {
  return endings[static_cast<int>(ending)].load(std::memory_order_relaxed);
}

struct Search {
  InScopePredicate in_scope;
  void* argument;
  uint64_t lookup_address;

  bool IsFoundAt(uint64_t address) {
    if (!in_scope(address, argument)) return false;
    lookup_address = address;
    return true;
  }
};

Ending EndingOf(StepResult result) {
  switch (result) {
    case StepResult::kEnd:
      return Ending::kReachedEnd;
    case StepResult::kNoCfi:
      return Ending::kNoCfi;
    case StepResult::kBadMemory:
      return Ending::kBadMemory;
    default:
      return Ending::kBadCfi;
  }
}

Ending SearchByEhFrame(const ucontext_t& context, Search* search) {
  Frame frame = FrameOf(context);
  StackReader stack(frame.registers[kRsp]);
  for (int depth = 0; depth < kMaxUnwindFrames; ++depth) {
    if (search->IsFoundAt(frame.LookupAddress())) return Ending::kFound;
    StepResult result = StepOut(&stack, &frame);
    if (result == StepResult::kNoCfi && follows_frame_pointers.load(std::memory_order_relaxed)) {
      result = StepByFramePointer(&stack, &frame);
    }
    if (result != StepResult::kStepped) return EndingOf(result);
  }
  return Ending::kTooDeep;
}

Ending SearchByLibunwind(const ucontext_t& context, Search* search) {
  const auto visit = +[](uint64_t lookup_address, void* argument) {
    return static_cast<Search*>(argument)->IsFoundAt(lookup_address);
  };
  switch (WalkWithLibunwind(&context, kMaxUnwindFrames, visit, search)) {
    case WalkEnd::kStopped:
      return Ending::kFound;
    case WalkEnd::kOutermost:
      return Ending::kReachedEnd;
    case WalkEnd::kTooDeep:
      return Ending::kTooDeep;
    default:
      return Ending::kBadCfi;
  }
}

Ending SearchLeaf(const ucontext_t& context, Search* search) {
  const auto ip = static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  return search->IsFoundAt(ip) ? Ending::kFound : Ending::kNoCfi;
}

Ending Walk(const ucontext_t& context, Search* search) {
  Ending ending;
  switch (kind) {
    case UnwinderKind::kEhFrame:
      ending = SearchByEhFrame(context, search);
      break;
    case UnwinderKind::kLibunwind:
      ending = SearchByLibunwind(context, search);
      break;
    default:
      ending = SearchLeaf(context, search);
      break;
  }
  endings[static_cast<int>(ending)].fetch_add(1, std::memory_order_relaxed);
  return ending;
}

}  // namespace

UnwinderKind InitUnwinder(UnwinderKind preferred) {
  const bool has_finder = InitObjectFinder();
  if (has_finder && preferred != UnwinderKind::kLibunwind) {
    kind = UnwinderKind::kEhFrame;
  } else if (InitLibunwind()) {
    kind = UnwinderKind::kLibunwind;
  } else {
    kind = has_finder ? UnwinderKind::kEhFrame : UnwinderKind::kNone;
  }
  PrepareThreadForUnwinding();
  return kind;
}

void PrepareThreadForUnwinding() {
  if (kind == UnwinderKind::kEhFrame) RememberStackOfThisThread();
  if (kind == UnwinderKind::kLibunwind) PrepareThreadForLibunwind();
}

void PrepareNewThreadForUnwinding(uint64_t stack_bytes) {
  if (kind == UnwinderKind::kEhFrame) RememberStackOfNewThread(stack_bytes);
  if (kind == UnwinderKind::kLibunwind) PrepareThreadForLibunwind();
}

void FollowFramePointers() { follows_frame_pointers.store(true, std::memory_order_relaxed); }

void FollowGoFunctions(const uint8_t* table, uint64_t bytes) { SetGoFunctions(table, bytes); }

void ForgetUnwindCache() {
  ForgetCachedRules();
  if (kind == UnwinderKind::kLibunwind) ForgetLibunwindCache();
}

bool FindFirstInScope(const ucontext_t* context, InScopePredicate in_scope, void* argument,
                      uint64_t* lookup_address) {
  Search search = {in_scope, argument, 0};
  if (Walk(*context, &search) != Ending::kFound) return false;
  *lookup_address = search.lookup_address;
  return true;
}

WalkResult WalkOutwards(const ucontext_t* context, InScopePredicate visit, void* argument) {
  Search search = {visit, argument, 0};
  switch (Walk(*context, &search)) {
    case Ending::kFound:
      return WalkResult::kStopped;
    case Ending::kReachedEnd:
      return WalkResult::kOutermost;
    default:
      return WalkResult::kBroken;
  }
}

UnwinderCounters ReadUnwinderCounters() {
  UnwinderCounters counters;
  counters.found = CountOf(Ending::kFound);
  counters.reached_end = CountOf(Ending::kReachedEnd);
  counters.no_cfi = CountOf(Ending::kNoCfi);
  counters.bad_cfi = CountOf(Ending::kBadCfi);
  counters.bad_memory = CountOf(Ending::kBadMemory);
  counters.too_deep = CountOf(Ending::kTooDeep);
  return counters;
}

}  // namespace coz::sampler
