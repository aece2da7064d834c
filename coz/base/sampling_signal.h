// Takes the sampling signal for this process by the kernel's own interface, past every wrapper.
//
// Shape    one handler
// Units    none
// Errors   a negative errno
// Threads  safe
// Signals  async-signal-safe
// Source   rt_sigaction(2); arch/x86/kernel/signal_64.c (SA_RESTORER)
//
// The kernel's interface, as the runtime that links this library exports wrappers of sigaction and
// pthread_sigmask, and sanitizers defer signals behind theirs.
#ifndef COZ_BASE_SAMPLING_SIGNAL_H_
#define COZ_BASE_SAMPLING_SIGNAL_H_

#include <signal.h>

namespace coz {

using SiginfoHandler = void (*)(int signo, siginfo_t* info, void* context);

// Restarts interrupted system calls, blocks `signo` and the signals that NoteSignalAction has
// found, and runs on the alternate stack where there is one: threads with small stacks of their own
// making (Go, coroutines) rely on that.
int InstallSignalHandler(int signo, SiginfoHandler handler);

// The program has set its action for `signo`. Where that is a handler which ends blocking calls
// (without SA_RESTART), the installed handler begins with `signo` blocked from now on, for its
// InterruptedCall. Calls must not overlap.
void NoteSignalAction(int signo);

// Takes the default action for `signo` now, in the calling thread, even within a handler of it.
void TakeDefaultAction(int signo);

void UnblockSignal(int signo);

}  // namespace coz

#endif  // COZ_BASE_SAMPLING_SIGNAL_H_
