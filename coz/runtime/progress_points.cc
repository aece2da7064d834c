#include "coz/runtime/progress_points.h"

#include <sched.h>
#include <string.h>

#include "coz/runtime/coz.h"

namespace coz::runtime {
namespace {

constexpr int kMostYields = 10000;

const char* TailThatFits(const char* name) {
  const size_t length = strlen(name);
  return length < shared::kPointNameBytes ? name : name + (length - (shared::kPointNameBytes - 1));
}

bool IsValidKind(int kind) {
  return kind == static_cast<int>(shared::PointKind::kThroughput) ||
         kind == static_cast<int>(shared::PointKind::kBegin) ||
         kind == static_cast<int>(shared::PointKind::kEnd);
}

template <typename Visit>
void ForEachMark(const void* begin, const void* end, Visit visit) {
  const uintptr_t last = reinterpret_cast<uintptr_t>(end);
  uintptr_t at = (reinterpret_cast<uintptr_t>(begin) + 7) & ~uintptr_t{7};
  for (; at + sizeof(coz_mark_t) <= last; at += 8) {
    const coz_mark_t* mark = reinterpret_cast<const coz_mark_t*>(at);
    if (mark->magic[0] != COZ_MARK_MAGIC_0 || mark->magic[1] != COZ_MARK_MAGIC_1) continue;
    if (mark->name != nullptr && IsValidKind(mark->type)) visit(*mark);
  }
}

}  // namespace

shared::PointSlot* FindOrAddPoint(shared::ControlBlock& control, shared::PointKind kind,
                                  const char* name) {
  const char* wanted = TailThatFits(name);
  for (uint32_t i = 0; i < shared::kMaxPoints; ++i) {
    shared::PointSlot& slot = control.points[i];
    shared::PointState state = shared::PointState::kFree;
    if (slot.state.compare_exchange_strong(state, shared::PointState::kBeingWritten,
                                           std::memory_order_acquire)) {
      slot.kind = kind;
      strcpy(slot.name, wanted);
      slot.state.store(shared::PointState::kReady, std::memory_order_release);
      return &slot;
    }
    // Another thread writes it, a few instructions long; unless its process was killed there.
    for (int tries = 0; tries < kMostYields && state == shared::PointState::kBeingWritten;
         ++tries) {
      sched_yield();
      state = slot.state.load(std::memory_order_acquire);
    }
    if (state != shared::PointState::kReady) continue;
    if (slot.kind == kind && strcmp(slot.name, wanted) == 0) return &slot;
  }
  shared::Add(control.counters.points_without_slot);
  return nullptr;
}

void AddPointsOfMarks(shared::ControlBlock& control, const void* begin, const void* end) {
  ForEachMark(begin, end, [&control](const coz_mark_t& mark) {
    FindOrAddPoint(control, static_cast<shared::PointKind>(mark.type), mark.name);
  });
}

void LetMarksAsk(MarksAsk ask, void* begin, const void* end) {
  // The values of coz_mark_t::state.
  constexpr int32_t kNotAsked = 0;
  constexpr int32_t kNoProfiler = 1;
  constexpr int32_t kProfiled = 2;
  ForEachMark(begin, end, [ask](const coz_mark_t& mark) {
    // It lies in data that the program writes.
    int32_t* const state = const_cast<int32_t*>(&mark.state);
    int32_t before = ask == MarksAsk::kAgain ? kNoProfiler : kProfiled;
    __atomic_compare_exchange_n(state, &before, ask == MarksAsk::kAgain ? kNotAsked : kNoProfiler,
                                /*weak=*/false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  });
}

}  // namespace coz::runtime
