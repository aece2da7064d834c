// What changed code calls where a call of a timed function begins or ends.
//
// Shape    addresses in this process, for its slot
// Units    none
// Errors   none: a thread without a slot times nothing
// Threads  safe
// Signals  the routines are async-signal-safe, and keep all registers but the flags where stubs
//          call them
// Source   coz/shared/call_timers.h; docs/threads.md
#ifndef COZ_RUNTIME_CALL_ROUTINES_H_
#define COZ_RUNTIME_CALL_ROUTINES_H_

#include "coz/shared/control_block.h"

namespace coz::runtime::runtime_internal {

void PublishCallRoutines(shared::ProcessSlot* process);

}  // namespace coz::runtime::runtime_internal

#endif  // COZ_RUNTIME_CALL_ROUTINES_H_
