// Takes the sampling signal for this process by the kernel's own interface, past every wrapper.
//
// Shape    one handler
// Units    none
// Errors   a negative errno
// Threads  safe
// Signals  async-signal-safe
// Source   rt_sigaction(2); arch/x86/kernel/signal_64.c (SA_RESTORER)
//
// Only the kernel's interface will do: the runtime exports wrappers of sigaction and
// pthread_sigmask, and those of sanitizers defer signals.
#ifndef COZ_BASE_SAMPLING_SIGNAL_H_
#define COZ_BASE_SAMPLING_SIGNAL_H_

#include <signal.h>

namespace coz {

using SiginfoHandler = void (*)(int signo, siginfo_t* info, void* context);

// The handler restarts system calls, blocks `signo` and the signals that NoteSignalAction has
// found, and runs on the alternate stack where there is one. Threads with small stacks of their own
// (Go, coroutines) rely on that.
int InstallSignalHandler(int signo, SiginfoHandler handler);

// The program has set its action for `signo`. If that is a handler without SA_RESTART, which ends
// blocking calls, the installed handler begins with `signo` blocked from now on, for its
// InterruptedCall. Calls must not overlap.
void NoteSignalAction(int signo);

// The program waits for rings of io_uring, which any handler ends. From now on handlers with
// SA_RESTART count, too.
void HoldSignalsThatEndRingWaits();

// From now on the handler, where it is installed, and each later one run on the stack of the
// interrupted code.
void HandleOffAlternateStacks();

// Takes the default action for `signo` now, in the calling thread, even within a handler of it.
void TakeDefaultAction(int signo);

void UnblockSignal(int signo);

}  // namespace coz

#endif  // COZ_BASE_SAMPLING_SIGNAL_H_
