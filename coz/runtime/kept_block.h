// What is left of the control block when the profiler has gone from a process that it had attached
// to: memory of the process's own at the same place, with what threads know by address.
//
// Shape    the block of the process; the room for tables is only kept, so that the next block fits
// Units    none
// Errors   without memory the supervisor's block stays, which nobody else uses any more
// Threads  of the process, others run on meanwhile
// Signals  async-signal-safe
// Source   docs/design/attach.md, "Detach"
#ifndef COZ_RUNTIME_KEPT_BLOCK_H_
#define COZ_RUNTIME_KEPT_BLOCK_H_

#include <cstdint>

namespace coz::runtime::runtime_internal {

// With the slots of all threads of process `pid`.
void KeepBlock(int32_t pid);

// In the child of fork, whose parent is attached to, or was: with the slot of the one thread.
void KeepBlockInChild();

}  // namespace coz::runtime::runtime_internal

#endif  // COZ_RUNTIME_KEPT_BLOCK_H_
