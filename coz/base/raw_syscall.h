// System calls by instruction: never interposed (the runtime wraps libc's functions, `syscall`
// among them), no errno, no cancellation point.
//
// Shape    number and up to six arguments, pointers and integers alike
// Units    none
// Errors   as the kernel gives them: -errno in -4095..-1
// Threads  safe
// Signals  async-signal-safe
// Source   x86-64 psABI, appendix A.2.1 "Calling Conventions" of Linux; syscall(2)
#ifndef COZ_BASE_RAW_SYSCALL_H_
#define COZ_BASE_RAW_SYSCALL_H_

#include <cstdint>
#include <type_traits>

namespace coz {
namespace raw_syscall_internal {

template <typename T>
inline long ToRegister(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return static_cast<long>(reinterpret_cast<intptr_t>(value));
  } else if constexpr (std::is_null_pointer_v<T>) {
    return 0;
  } else {
    return static_cast<long>(value);
  }
}

inline long Invoke(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

}  // namespace raw_syscall_internal

#ifdef __clang_analyzer__
// The analyzer knows nothing of what assembly does to memory, and takes a function without a body
// to write wherever its arguments point to.
template <typename... T>
long RawSyscall(long number, T... arguments);
#else
template <typename A = int, typename B = int, typename C = int, typename D = int, typename E = int,
          typename F = int>
inline long RawSyscall(long number, A a = {}, B b = {}, C c = {}, D d = {}, E e = {}, F f = {}) {
  using raw_syscall_internal::ToRegister;
  return raw_syscall_internal::Invoke(number, ToRegister(a), ToRegister(b), ToRegister(c),
                                      ToRegister(d), ToRegister(e), ToRegister(f));
}
#endif

}  // namespace coz

#endif  // COZ_BASE_RAW_SYSCALL_H_
