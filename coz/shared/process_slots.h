// Tells the supervisor which processes are profiled.
//
// Shape    a table of the control block. A process takes a slot when it attaches; the supervisor
//          frees it when the process is gone
// Units    slot indices; ns of CLOCK_MONOTONIC
// Errors   no slot left: null, and counted in the block; the process then runs unprofiled
// Threads  safe, across processes too
// Signals  async-signal-safe
// Source   none
#ifndef COZ_SHARED_PROCESS_SLOTS_H_
#define COZ_SHARED_PROCESS_SLOTS_H_

#include "coz/shared/control_block.h"

namespace coz::shared {

// A slot for the calling process: the one that it had before an exec, else a free one. It is in
// state kBeingWritten and has no counted places. Null: none is left.
ProcessSlot* TakeProcessSlot(ControlBlock& control, int32_t pid, int32_t parent_pid);

// A child of fork has the breakpoints of its parent.
void InheritCountedPlaces(const ProcessSlot& parent, ProcessSlot* child);

// Whether a sample at `ip` fell into the counting of a visit. Counting takes nearly all of the time
// that is sampled there, and the instruction itself next to none.
bool IsCountedPlace(const ProcessSlot& process, uint64_t ip);

inline uint32_t IndexOf(const ControlBlock& control, const ProcessSlot& slot) {
  return static_cast<uint32_t>(&slot - control.processes);
}

}  // namespace coz::shared

#endif  // COZ_SHARED_PROCESS_SLOTS_H_
