// Gives each thread of the target a slot of the control block.
//
// Shape    a lock-free free list threaded through the slots, and a high-water mark
// Units    slot indices
// Errors   no slot left: null, and counted in the block; the thread then runs unprofiled
// Threads  safe, across processes too
// Signals  async-signal-safe
// Source   Treiber's stack with a tag against ABA
#ifndef COZ_RUNTIME_THREAD_SLOTS_H_
#define COZ_RUNTIME_THREAD_SLOTS_H_

#include "coz/runtime/control_block.h"

namespace coz {

// A slot in state kReserved, or null.
ThreadSlot* ReserveThreadSlot(ControlBlock& control);

void FreeThreadSlot(ControlBlock& control, ThreadSlot& slot);

}  // namespace coz

#endif  // COZ_RUNTIME_THREAD_SLOTS_H_
