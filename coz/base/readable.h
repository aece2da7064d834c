// Whether an address of the own process can be read, asked without reading it.
//
// Shape    eight bytes at the address
// Units    none
// Errors   none: what cannot be read is the answer
// Threads  safe
// Signals  async-signal-safe; errno is left alone
// Source   rt_sigprocmask(2): copies the new mask from user memory before it looks at `how`, so with an invalid `how` it tells
//          readable (EINVAL) from not (EFAULT) and changes nothing; and filters of system calls let it pass
#ifndef COZ_BASE_READABLE_H_
#define COZ_BASE_READABLE_H_

#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>

#include "coz/base/raw_syscall.h"

namespace coz {

inline bool IsReadable(uintptr_t address) {
  constexpr int kInvalidHow = -1;
  constexpr uint64_t kMaskBytes = 8;
  return RawSyscall(SYS_rt_sigprocmask, kInvalidHow, address, nullptr, kMaskBytes) == -EINVAL;
}

}  // namespace coz

#endif  // COZ_BASE_READABLE_H_
