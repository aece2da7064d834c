// Keeps the program from masking or handling the sampling signal, and lets it believe that it does.
//
// Shape    wrapped sigaction, signal, siginterrupt, sigprocmask, pthread_sigmask, sigpending and
//          signalfd; rt_sigaction for syscall(). Calls that wait with a mask are in signal.cc
//          and poll.cc. For the reserved signal there is one virtual disposition, one virtual mask
//          bit per thread, and one bit for the mask of each other signal's handler
// Units    none
// Errors   those of the wrapped calls
// Threads  safe
// Signals  the wrapped calls are as async-signal-safe as libc's; DeliverForeignSignal runs in
//          signal context
// Source   sigaction(2), sigprocmask(2); POSIX.1-2017 section 2.4
#ifndef COZ_SYNC_INTERPOSE_SIGNAL_SHIELD_H_
#define COZ_SYNC_INTERPOSE_SIGNAL_SHIELD_H_

#include <signal.h>

#include <cstdint>

namespace coz::interpose {

// Makes the disposition that the program has inherited for the signal its virtual disposition. To
// be called before the sampler takes the signal.
void InitSignalShield(int reserved_signal);

// The same for a process that has threads already. Their masks cannot be changed from outside, so
// masks are what the program sets: a thread that blocks the signal gets no samples meanwhile.
void InitSignalShieldLate(int reserved_signal);

// After that: from now on no thread blocks the signal, and the program believes that it does, as
// with InitSignalShield. No thread may block it now. Handlers' masks lose it until GiveMasksBack.
void LetReservedSignalIn();
void GiveMasksBack();

// Whether the shield is there: it was set up, and not lifted since.
bool HasSignalShield();

// Calls `then` once, when the program next sets its action for the reserved signal by libc (or by
// syscall()), before that is done. Until then AwaitsReservedAction.
void AwaitReservedAction(void (*then)());
bool AwaitsReservedAction();

// rt_sigaction by syscall(), with its arguments. For the reserved signal it does what sigaction
// would, and otherwise the system call.
long RtSigaction(long signal, long action, long old_action, long mask_bytes);

// Does what the program wants with a reserved signal that does not come from the sampler.
void DeliverForeignSignal(int signal, siginfo_t* info, void* context);

// Makes the program's virtual disposition and mask real. For a process that is not profiled any
// more, such as a child of fork.
void LiftSignalShield();

// For the child of fork: another thread of the parent may have been in the middle of a change.
void OnForkInSignalShield();

// Whether the program believes that the calling thread blocks the reserved signal.
uint32_t BlocksReservedSignal();
void SetBlocksReservedSignal(uint32_t blocks);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_SIGNAL_SHIELD_H_
