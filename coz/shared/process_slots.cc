#include "coz/shared/process_slots.h"

#include <algorithm>
#include <iterator>

#include "coz/base/clock.h"
#include "coz/shared/slot_loops.h"

namespace coz::shared {
namespace {

// The slot that the process had before an exec. Or that of an earlier process with the same number,
// whose end the supervisor has not seen yet.
ProcessSlot* FindSlotOf(ControlBlock& control, int32_t pid) {
  ProcessSlot* found = nullptr;
  ForEachProcess(control, [&found, pid](ProcessSlot& slot) {
    const ProcessState state = slot.state.load(std::memory_order_acquire);
    if (state != ProcessState::kFree && slot.pid == pid) found = &slot;
    return found == nullptr;
  });
  return found;
}

ProcessSlot* FindFreeSlot(ControlBlock& control) {
  for (uint32_t i = 0; i < kMaxProcesses; ++i) {
    ProcessSlot& slot = control.processes[i];
    ProcessState state = ProcessState::kFree;
    if (!slot.state.compare_exchange_strong(state, ProcessState::kBeingWritten,
                                            std::memory_order_acquire)) {
      continue;
    }
    uint32_t used = control.processes_high_water.load(std::memory_order_relaxed);
    while (used < i + 1 && !control.processes_high_water.compare_exchange_weak(
                               used, i + 1, std::memory_order_release)) {
    }
    return &slot;
  }
  return nullptr;
}

}  // namespace

ProcessSlot* TakeProcessSlot(ControlBlock& control, int32_t pid, int32_t parent_pid) {
  ProcessSlot* slot = FindSlotOf(control, pid);
  if (slot != nullptr) {
    slot->state.store(ProcessState::kBeingWritten, std::memory_order_relaxed);
  } else {
    slot = FindFreeSlot(control);
  }
  if (slot == nullptr) {
    Add(control.counters.processes_without_slot);
    return nullptr;
  }
  slot->pid = pid;
  slot->parent_pid = parent_pid;
  slot->start_ns = MonotonicNowNs();
  for (std::atomic<uint64_t>& place : slot->counted_places)
    place.store(0, std::memory_order_relaxed);
  slot->counters_fs_offset = 0;
  slot->own_call = 0;
  slot->goroutine = 0;
  slot->notes_goroutines.store(0, std::memory_order_relaxed);
  slot->unloads.store(0, std::memory_order_relaxed);
  slot->uses_timers.store(0, std::memory_order_relaxed);
  slot->left_for_good = 0;
  slot->event.fd_plus_1.store(0);
  slot->event.held.store(0);
  return slot;
}

void InheritCountedPlaces(const ProcessSlot& parent, ProcessSlot* child) {
  for (uint32_t i = 0; i < kMaxCountedPlaces; ++i) {
    child->counted_places[i].store(parent.counted_places[i].load(std::memory_order_relaxed),
                                   std::memory_order_relaxed);
  }
}

bool IsCountedPlace(const ProcessSlot& process, uint64_t ip) {
  return std::any_of(std::begin(process.counted_places), std::end(process.counted_places),
                     [ip](const std::atomic<uint64_t>& place) {
                       return place.load(std::memory_order_relaxed) == ip;
                     });
}

}  // namespace coz::shared
