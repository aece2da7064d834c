// Keeps the program from masking or taking the sampling signal, and lets it believe that it did.
//
// Shape    wrapped sigaction, signal, siginterrupt, sigprocmask, pthread_sigmask, sigpending,
//          signalfd; calls that wait with a mask are in signal.cc and poll.cc. For the reserved
//          signal: one virtual disposition, one virtual mask bit per thread, and a bit for each
//          other handler's mask
// Units    none
// Errors   as the wrapped calls
// Threads  safe
// Signals  the wrapped calls are as async-signal-safe as libc's; DeliverForeignSignal runs in
//          signal context
// Source   sigaction(2), sigprocmask(2); POSIX.1-2017 section 2.4
#ifndef COZ_SYNC_INTERPOSE_SIGNAL_SHIELD_H_
#define COZ_SYNC_INTERPOSE_SIGNAL_SHIELD_H_

#include <signal.h>

#include <cstdint>

namespace coz::interpose {

// Before the sampler takes the signal: what the program has inherited for it becomes its virtual
// disposition.
void InitSignalShield(int reserved_signal);

// The reserved signal came from elsewhere than the sampler: does what the program has asked for.
void DeliverForeignSignal(int signal, siginfo_t* info, void* context);

// In the child of fork, which is not profiled: the program's disposition and mask become real.
void LiftSignalShield();

// In the child of fork: another thread of the parent may have been amid a change.
void OnForkInSignalShield();

// Whether the program believes that the calling thread blocks the reserved signal.
uint32_t BlocksReservedSignal();
void SetBlocksReservedSignal(uint32_t blocks);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_SIGNAL_SHIELD_H_
