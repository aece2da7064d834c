// Tells the supervisor which processes are profiled.
//
// Shape    a table of the control block; a process takes a slot when it attaches, the supervisor frees it when the process is gone
// Units    slot indices; ns of CLOCK_MONOTONIC
// Errors   no slot left: null, and counted in the block; the process then runs unprofiled
// Threads  safe, across processes too
// Signals  async-signal-safe
// Source   none
#ifndef COZ_RUNTIME_PROCESS_SLOTS_H_
#define COZ_RUNTIME_PROCESS_SLOTS_H_

#include "coz/runtime/control_block.h"

namespace coz {

// A slot for the calling process, still in state kBeingWritten and without counted places: the one that it had before an exec, else a
// free one. Null: none.
ProcessSlot* TakeProcessSlot(ControlBlock& control, int32_t pid, int32_t parent_pid);

// A child of fork has the breakpoints of its parent.
void InheritCountedPlaces(const ProcessSlot& parent, ProcessSlot* child);

// Whether a thread of the process that is sampled at `ip` has stopped there for a visit to be counted. The instruction itself takes
// next to none of the time that this takes.
bool IsCountedPlace(const ProcessSlot& process, uint64_t ip);

inline uint32_t IndexOf(const ControlBlock& control, const ProcessSlot& slot) {
  return static_cast<uint32_t>(&slot - control.processes);
}

}  // namespace coz

#endif  // COZ_RUNTIME_PROCESS_SLOTS_H_
