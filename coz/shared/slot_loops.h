// Loops over the slots of threads and processes that have ever been used.
//
// Shape    a visitor that returns bool ends the loop by returning false; others see every slot. It
//          gets the slot, or the slot and its index
// Units    slot indices
// Errors   none
// Threads  safe; a slot may change its state while it is visited
// Signals  async-signal-safe where the visitor is
// Source   none
#ifndef COZ_SHARED_SLOT_LOOPS_H_
#define COZ_SHARED_SLOT_LOOPS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "coz/shared/control_block.h"

namespace coz::shared {
namespace slot_loops_internal {

// False: the loop ends.
template <typename Visit, typename... Args>
bool GoesOn(Visit& visit, Args&&... args) {
  if constexpr (std::is_void_v<decltype(visit(args...))>) {
    visit(args...);
    return true;
  } else {
    return visit(args...);
  }
}

template <typename Slot, typename Visit>
void ForEachSlot(Slot* slots, uint32_t used, Visit& visit) {
  for (uint32_t i = 0; i < used; ++i) {
    if constexpr (std::is_invocable_v<Visit&, Slot&, uint32_t>) {
      if (!GoesOn(visit, slots[i], i)) return;
    } else {
      if (!GoesOn(visit, slots[i])) return;
    }
  }
}

}  // namespace slot_loops_internal

inline uint32_t UsedThreadSlots(const ControlBlock& control) {
  return std::min(control.threads_high_water.load(std::memory_order_acquire), kMaxThreads);
}

// Free slots too: they keep the counters of threads that have ended. `Control` may be const.
template <typename Control, typename Visit>
void ForEachThread(Control& control, Visit visit) {
  slot_loops_internal::ForEachSlot(control.threads, UsedThreadSlots(control), visit);
}

template <typename Control, typename Visit>
void ForEachRunningThread(Control& control, Visit visit) {
  ForEachThread(control, [&visit](auto& slot) {
    if (slot.state.load(std::memory_order_acquire) != ThreadState::kRunning) return true;
    return slot_loops_internal::GoesOn(visit, slot);
  });
}

// Running threads that pay what they owe. Those of a process in an exec do not.
template <typename Control, typename Visit>
void ForEachPayingThread(Control& control, Visit visit) {
  ForEachRunningThread(control, [&control, &visit](auto& slot) {
    const auto& process =
        control.processes[slot.process.load(std::memory_order_relaxed) % kMaxProcesses];
    if (process.state.load(std::memory_order_relaxed) == ProcessState::kChanging) return true;
    return slot_loops_internal::GoesOn(visit, slot);
  });
}

// Free slots too.
template <typename Control, typename Visit>
void ForEachProcess(Control& control, Visit visit) {
  const uint32_t used =
      std::min(control.processes_high_water.load(std::memory_order_acquire), kMaxProcesses);
  slot_loops_internal::ForEachSlot(control.processes, used, visit);
}

}  // namespace coz::shared

#endif  // COZ_SHARED_SLOT_LOOPS_H_
