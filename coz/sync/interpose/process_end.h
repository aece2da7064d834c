// What a process does before it ends, so that a thread gets credit that waits for its end or for
// the signal of its end.
//
// Shape    one function
// Units    none
// Errors   none
// Threads  safe
// Signals  async-signal-safe
// Source   waitpid(2)
#ifndef COZ_SYNC_INTERPOSE_PROCESS_END_H_
#define COZ_SYNC_INTERPOSE_PROCESS_END_H_

#include <unistd.h>

#include "coz/sync/delay/io_tables.h"
#include "coz/sync/interpose/io_wait.h"

namespace coz::interpose {

// Pays, and leaves the caller's local delay for threads that wait for the end of this process.
inline void PayBeforeProcessEnds() {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (thread == nullptr || HasLeftThreadSync()) return;
  ImposeAllAccruedHere(*thread);
  PayBeforeWaking(ProcessExitKey(getpid()));
  const pid_t parent = getppid();
  PayBeforeWaking(SignalKey(parent));
  TheIoTables().SignalSentNs(parent).store(MonotonicNowNs(), std::memory_order_relaxed);
}

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_PROCESS_END_H_
