// Gives each thread of the target a slot of the control block.
//
// Shape    a lock-free free list threaded through the slots, and a high-water mark. The number of a
//          slot identifies it; its address differs by process (ReplaceInheritedSlot)
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

// One that nobody has had so far.
ThreadSlot* ReserveUnusedThreadSlot(ControlBlock& control, uint32_t process, int32_t pid);

void FreeThreadSlot(ControlBlock& control, ThreadSlot& slot);

// Frees what a process still holds that has ended, or lost its threads by exec.
void FreeThreadSlotsOf(ControlBlock& control, int32_t pid);

// For the child of fork: puts a fresh slot in the place of `inherited`, which stays the parent's.
// The thread that forked may have kept the addresses of its counters (marks of coz.h do). It now
// finds its own counters there. The two slots change places in this process's memory, so each of
// them still has one address.
// Returns the fresh slot, at the address of `inherited`. Null: no slot is left, nothing is changed.
ThreadSlot* ReplaceInheritedSlot(ControlBlock& control, ThreadSlot& inherited, uint32_t process,
                                 int32_t pid);

}  // namespace coz::shared

#endif  // COZ_SHARED_THREAD_SLOTS_H_
