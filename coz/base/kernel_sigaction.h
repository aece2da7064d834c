// The action for a signal in the kernel's own form, past every wrapper of sigaction(2).
//
// Shape    what rt_sigaction takes, and the two directions of the call
// Units    mask: a bit for each signal, signal 1 lowest
// Errors   a negative errno
// Threads  safe
// Signals  async-signal-safe
// Source   rt_sigaction(2); arch/x86/include/uapi/asm/signal.h
#ifndef COZ_BASE_KERNEL_SIGACTION_H_
#define COZ_BASE_KERNEL_SIGACTION_H_

#include <sys/syscall.h>

#include <cstdint>

#include "coz/base/raw_syscall.h"

namespace coz {

struct KernelSigaction {
  uint64_t handler;  // SIG_DFL is 0 and SIG_IGN 1
  uint64_t flags;
  uint64_t restorer;
  uint64_t mask;
};
static_assert(sizeof(KernelSigaction) == 32);

inline long SetKernelSigaction(int signo, const KernelSigaction& action) {
  const void* const from = &action;
  return RawSyscall(SYS_rt_sigaction, signo, from, nullptr, sizeof(action.mask));
}

inline long GetKernelSigaction(int signo, KernelSigaction* action) {
  void* const into = action;
  return RawSyscall(SYS_rt_sigaction, signo, nullptr, into, sizeof(action->mask));
}

}  // namespace coz

#endif  // COZ_BASE_KERNEL_SIGACTION_H_
