// Tells whether an address of this process can be read, without reading it.
//
// Shape    eight bytes at the address, or an object of any size; an object costs a system call for
//          each page that it lies in
// Units    none
// Errors   none: what cannot be read is the answer
// Threads  safe
// Signals  async-signal-safe; errno is left alone
// Source   rt_sigprocmask(2): copies the new mask from user memory before it looks at `how`, so
//          with an invalid `how` it tells readable (EINVAL) from not (EFAULT) and changes nothing;
//          and filters of system calls let it pass
#ifndef COZ_BASE_READABLE_H_
#define COZ_BASE_READABLE_H_

#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "coz/base/raw_syscall.h"

namespace coz {

constexpr uintptr_t kReadableGrain = 8;

inline bool IsReadable(uintptr_t address) {
  constexpr int kInvalidHow = -1;
  return RawSyscall(SYS_rt_sigprocmask, kInvalidHow, address, nullptr, kReadableGrain) == -EINVAL;
}

inline bool IsReadable(const void* object, size_t bytes) {
  constexpr uintptr_t kPageBytes = 4096;
  const auto start = reinterpret_cast<uintptr_t>(object);
  const uintptr_t end = start + bytes;
  // An aligned word lies in one page.
  for (uintptr_t word = start & ~(kReadableGrain - 1); word < end;
       word = (word & ~(kPageBytes - 1)) + kPageBytes) {
    if (!IsReadable(word)) return false;
  }
  return end >= start;
}

}  // namespace coz

#endif  // COZ_BASE_READABLE_H_
