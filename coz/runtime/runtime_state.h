// What the parts of the preload runtime share: this process's place in the profile, and its
// threads' slots.
//
// Shape    one for the process; set by attach.cc when the library is loaded, by late_attach.cc when
//          the supervisor comes later, and by fork.cc in children of fork
// Units    none
// Errors   CurrentSlot: null where there is no slot left, which is counted
// Threads  written while there is one thread, or none that reads them, and read by all of them;
//          t_left is each thread's own
// Signals  async-signal-safe
// Source   docs/design/processes.md
#ifndef COZ_RUNTIME_RUNTIME_STATE_H_
#define COZ_RUNTIME_RUNTIME_STATE_H_

#include <sys/types.h>

#include "coz/runtime/module_map.h"
#include "coz/shared/control_block.h"
#include "coz/sync/delay/delay_ledger.h"

namespace coz::runtime::runtime_internal {

// The first three are null or 0 in processes that are not profiled.
extern shared::ControlBlock* g_control __attribute__((visibility("hidden")));
extern shared::ProcessSlot* g_process __attribute__((visibility("hidden")));
extern pid_t g_pid __attribute__((visibility("hidden")));
// The process had threads before it was profiled (late_attach.cc).
extern bool g_is_late __attribute__((visibility("hidden")));
extern ModuleMap g_modules __attribute__((visibility("hidden")));

// Set when the thread has given up its slot: late samples do not take another.
extern __thread bool t_left __attribute__((tls_model("initial-exec"), visibility("hidden")));

shared::ThreadSlot& SlotOf(delay::ThreadLedger* ledger);

// The calling thread runs on `slot`, which was reserved for it.
void OccupySlot(shared::ThreadSlot& slot);

// The calling thread's slot. A thread that was made without pthread_create, or before the process
// was profiled, gets one with its first sample or wrapped call, and starts level.
shared::ThreadSlot* CurrentSlot();

// Of g_control. One that was killed lives until its parent asks for it, which in a container may be
// never.
bool SupervisorLives();
// Sees that, too. Has a descriptor for a moment.
bool SupervisorHasEnded();

}  // namespace coz::runtime::runtime_internal

#endif  // COZ_RUNTIME_RUNTIME_STATE_H_
