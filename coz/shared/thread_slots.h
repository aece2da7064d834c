// Gives each thread of the target a slot of the control block.
//
// Shape    a lock-free free list threaded through the slots, and a high-water mark. A slot is known by its number; its address is a
//          matter of the process: see ReplaceInheritedSlot
// Units    slot numbers, from 1
// Errors   no slot left: null, and counted in the block; the thread then runs unprofiled
// Threads  safe, across processes too. A process that is killed amid a call loses at most one slot
// Signals  async-signal-safe
// Source   Treiber's stack with a tag against ABA; mremap(2) with an old size of 0
#ifndef COZ_SHARED_THREAD_SLOTS_H_
#define COZ_SHARED_THREAD_SLOTS_H_

#include "coz/shared/control_block.h"

namespace coz::shared {

// A slot in state kReserved for a thread of the process in slot `process`, or null.
ThreadSlot* ReserveThreadSlot(ControlBlock& control, uint32_t process, int32_t pid);

void FreeThreadSlot(ControlBlock& control, ThreadSlot& slot);

// Frees what a process still holds that has ended, or lost its threads by exec.
void FreeThreadSlotsOf(ControlBlock& control, int32_t pid);

// In the child of fork: puts a fresh slot in the place of `inherited`, which stays the parent's. The thread that forked may have kept
// the addresses of its counters anywhere (marks of coz.h do), and now finds its own there. The two slots change places in this
// process's memory, so that every slot keeps one address; at the other's lies the parent's.
// Returns the fresh slot, at the address of `inherited`; null where there is none, and nothing is changed.
ThreadSlot* ReplaceInheritedSlot(ControlBlock& control, ThreadSlot& inherited, uint32_t process,
                                 int32_t pid);

}  // namespace coz::shared

#endif  // COZ_SHARED_THREAD_SLOTS_H_
