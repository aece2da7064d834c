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

// A slot for the calling process, still in state kBeingWritten: the one that it had before an exec, else a free one. Null: none.
ProcessSlot* TakeProcessSlot(ControlBlock& control, int32_t pid, int32_t parent_pid);

inline uint32_t IndexOf(const ControlBlock& control, const ProcessSlot& slot) {
  return static_cast<uint32_t>(&slot - control.processes);
}

}  // namespace coz

#endif  // COZ_RUNTIME_PROCESS_SLOTS_H_
