// Signal masks as the kernel has them, which are shorter than libc's sigset_t.
//
// Shape    bit n - 1 for signal n
// Units    none
// Errors   none
// Threads  the calling thread's mask
// Signals  async-signal-safe
// Source   rt_sigprocmask(2)
#ifndef COZ_BASE_SIGNAL_MASK_H_
#define COZ_BASE_SIGNAL_MASK_H_

#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>

#include "coz/base/raw_syscall.h"

namespace coz {

constexpr uint64_t SignalMaskOf(int signo) { return uint64_t{1} << (signo - 1); }

inline void UnblockSignals(uint64_t mask) {
  RawSyscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, nullptr, sizeof(mask));
}

inline uint64_t BlockedSignals() {
  uint64_t mask = 0;
  RawSyscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof(mask));
  return mask;
}

// Of blocked signals alone.
inline uint64_t PendingSignals() {
  uint64_t mask = 0;
  RawSyscall(SYS_rt_sigpending, &mask, sizeof(mask));
  return mask;
}

}  // namespace coz

#endif  // COZ_BASE_SIGNAL_MASK_H_
