// The signals that the profiler keeps for itself, and signal sets with and without them.
//
// Shape    a set of at most a few signals, fixed before threads start; empty where the process is
//          not profiled
// Units    none
// Errors   none
// Threads  safe after SetReservedSignals
// Signals  async-signal-safe, except SetReservedSignals
// Source   sigsetops(3)
#ifndef COZ_SYNC_INTERPOSE_RESERVED_SIGNALS_H_
#define COZ_SYNC_INTERPOSE_RESERVED_SIGNALS_H_

#include <signal.h>

#include "coz/base/readable.h"

namespace coz::interpose {

void SetReservedSignals(const sigset_t& signals);
const sigset_t& ReservedSignals();

inline bool IsReservedSignal(int signal) {
  return signal > 0 && signal < _NSIG && sigismember(&ReservedSignals(), signal) == 1;
}

// Whether the set is in readable memory. libc's calls do not look into the set; the kernel does,
// and refuses one that it cannot read. Such a set has to be passed on as it is.
inline bool IsReadableSet(const sigset_t* set) {
  return IsReadable(reinterpret_cast<uintptr_t>(set));
}

// `set` without, or with, the reserved signals.
sigset_t WithoutReservedSignals(const sigset_t& set);
sigset_t WithReservedSignals(const sigset_t& set);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_RESERVED_SIGNALS_H_
