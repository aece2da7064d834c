// Knows the code that a signal handler returns to, which need not have call frame information.
//
// Shape    9 bytes: movq $15, %rax; syscall
// Units    runtime addresses
// Errors   none
// Threads  safe
// Signals  async-signal-safe
// Source   sigreturn(2); glibc's and every other libc's restorer, as debuggers rely on it
#ifndef COZ_SAMPLER_UNWIND_SIGRETURN_H_
#define COZ_SAMPLER_UNWIND_SIGRETURN_H_

#include <cstdint>

#include "coz/sampler/unwind/stack_reader.h"

namespace coz::sampler {

inline bool IsSigreturnAt(StackReader* memory, uint64_t begin) {
  constexpr uint64_t kFirstEightBytes = 0x0f0000000fc0c748;
  constexpr uint64_t kLastByte = 0x05;
  uint64_t head, tail;
  return memory->Read(begin, &head) && head == kFirstEightBytes && memory->Read(begin + 1, &tail) &&
         tail >> 56 == kLastByte;
}

// Whether `ip` is at either of the two instructions.
inline bool IsInSigreturn(StackReader* memory, uint64_t ip) {
  constexpr uint64_t kMovqBytes = 7;
  return IsSigreturnAt(memory, ip) || IsSigreturnAt(memory, ip - kMovqBytes);
}

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_UNWIND_SIGRETURN_H_
