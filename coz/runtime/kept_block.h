// What is left of the control block when the profiler has gone from a process that it had attached
// to: memory of the process's own at the same place, with what threads know by address.
//
// Shape    the block of the process, up to the last slot that was used. The rest of its gigabyte is
//          given back: a server may limit its address space when it serves
// Units    none
// Errors   without memory the supervisor's block stays, which nobody else uses any more. Where
//          something else lies in the rest meanwhile, the process cannot be attached to again
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
// Before the next block comes in the place of the one that is kept. False, with errno, where the
// rest of its room cannot be had.
bool MakeRoomForBlock();

// In the child of fork that is never profiled: empty memory of its own in the place of the block.
void ReplaceBlock();

}  // namespace coz::runtime::runtime_internal

#endif  // COZ_RUNTIME_KEPT_BLOCK_H_
