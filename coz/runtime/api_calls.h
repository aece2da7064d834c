// Counts and times calls into libraries: changed code at the entry of a library's function calls a
// routine here, which tells by the return address who calls.
//
// Shape    a table of this process's call sites, each with the counters of its calls. A call site
//          is looked at once: its object is found, and a point slot is taken for it
// Units    runtime addresses
// Errors   a call of a caller for which no point slot is left is in no column, which is counted
// Threads  safe
// Signals  async-signal-safe. The routines keep all registers but the flags
// Source   docs/design/calls-into-libraries.md
#ifndef COZ_RUNTIME_API_CALLS_H_
#define COZ_RUNTIME_API_CALLS_H_

#include "coz/shared/control_block.h"

namespace coz::runtime::runtime_internal {

// Sets the routines of the process, which count in this block from now on.
void PublishApiRoutines(shared::ControlBlock* control, shared::ProcessSlot* process);

// Call sites are looked at again: code has been unloaded.
void FlushApiCallSites();

}  // namespace coz::runtime::runtime_internal

#endif  // COZ_RUNTIME_API_CALLS_H_
