// Begins, keeps and ends the figures of threads (thread_figures.h), and tells by a thread's name
// what its samples count for.
//
// Shape    functions on slots of the control block
// Units    as thread_figures.h
// Errors   as thread_figures.h
// Threads  BeginFigures, NoteSample, NoteCpuTime: the slot's own thread. EndFigures: that one, or
//          who frees the slot of a process that has ended
// Signals  async-signal-safe. A handler of the program may not call in between: SIGTRAP alone does,
//          which is blocked in its own handler
// Source   prctl(2), PR_GET_NAME; docs/threads.md
#ifndef COZ_SHARED_THREAD_RECORDS_H_
#define COZ_SHARED_THREAD_RECORDS_H_

#include <cstdint>

#include "coz/shared/control_block.h"

namespace coz::shared {

// The calling thread's.
ThreadName ReadOwnName();

// The slot's thread starts; it is the calling one.
void BeginFigures(const ControlBlock& control, ThreadSlot& slot);

// What samples of a thread count for.
struct ThreadRole {
  bool is_in_scope = true;
  uint32_t group = 0;  // as ThreadGroupOf says
};

// The calling thread's.
ThreadRole OwnRole(const ControlBlock& control);

// A sample of the calling thread, before it is attributed. The name is read anew: where it has
// changed, later figures are those of the new name.
ThreadRole NoteSample(ControlBlock& control, ThreadSlot& slot, uint64_t weight);

// Of figures that began in an earlier session, whose patterns were others.
void RenewRole(const ControlBlock& control, ThreadSlot& slot);

// The calling thread ends, or its process does.
void NoteCpuTime(ThreadSlot& slot);

// Writes the figures into the ring.
void EndFigures(ControlBlock& control, const ThreadSlot& slot);

}  // namespace coz::shared

#endif  // COZ_SHARED_THREAD_RECORDS_H_
