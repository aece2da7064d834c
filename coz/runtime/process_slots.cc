#include "coz/runtime/process_slots.h"

#include <algorithm>

#include "coz/base/clock.h"

namespace coz {
namespace {

// What the process had before its exec, or what another of its number has left that the supervisor has not seen end.
ProcessSlot* FindSlotOf(ControlBlock& control, int32_t pid) {
  const uint32_t used =
      std::min(control.processes_high_water.load(std::memory_order_acquire), kMaxProcesses);
  for (uint32_t i = 0; i < used; ++i) {
    ProcessSlot& slot = control.processes[i];
    const ProcessState state = slot.state.load(std::memory_order_acquire);
    if (state != ProcessState::kFree && slot.pid == pid) return &slot;
  }
  return nullptr;
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
    control.processes_without_slot.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  slot->pid = pid;
  slot->parent_pid = parent_pid;
  slot->start_ns = MonotonicNowNs();
  return slot;
}

}  // namespace coz
