// Tells the supervisor which processes are profiled.
//
// Shape    a table of the control block; a process takes a slot when it attaches, the supervisor frees it when the process is gone
// Units    slot indices; ns of CLOCK_MONOTONIC
// Errors   no slot left: null, and counted in the block; the process then runs unprofiled
// Threads  safe, across processes too
// Signals  async-signal-safe
// Source   none
#ifndef COZ_SHARED_PROCESS_SLOTS_H_
#define COZ_SHARED_PROCESS_SLOTS_H_

#include "coz/shared/control_block.h"

namespace coz::shared {

// A slot for the calling process, still in state kBeingWritten and without counted places: the one that it had before an exec, else a
// free one. Null: none.
ProcessSlot* TakeProcessSlot(ControlBlock& control, int32_t pid, int32_t parent_pid);

// A child of fork has the breakpoints of its parent.
void InheritCountedPlaces(const ProcessSlot& parent, ProcessSlot* child);

// Whether a thread of the process that is sampled at `ip` has stopped there for a visit to be counted. The instruction itself takes
// next to none of the time that this takes.
bool IsCountedPlace(const ProcessSlot& process, uint64_t ip);

// Whether a SIGTRAP is of a breakpoint that counts there, but the kernel was not told so: some hypervisors lose the reason of a debug
// exception (DR6) when an interrupt comes at the same moment, and the kernel takes it for the program's own. `code` is the signal's, `trap`
// the exception's number.
bool IsLostBreakpoint(const ProcessSlot& process, int code, int64_t trap, uint64_t ip);
// The same where it is not known what is counted.
bool MayBeLostBreakpoint(int code, int64_t trap);

inline uint32_t IndexOf(const ControlBlock& control, const ProcessSlot& slot) {
  return static_cast<uint32_t>(&slot - control.processes);
}

}  // namespace coz::shared

#endif  // COZ_SHARED_PROCESS_SLOTS_H_
