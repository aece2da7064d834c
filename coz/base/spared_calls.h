// System calls without which coz goes on where a filter (seccomp) would end the process for them,
// as `SystemCallFilter=` of systemd does. They are made by SparedCall only.
//
// Shape    a set of calls is a bit for each, by its place in kSparedCalls
// Units    numbers of system calls
// Errors   EPERM for a call that is not made, as of a filter that refuses it
// Threads  safe
// Signals  async-signal-safe
// Source   seccomp(2); systemd.exec(5), SystemCallFilter=
#ifndef COZ_BASE_SPARED_CALLS_H_
#define COZ_BASE_SPARED_CALLS_H_

#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "coz/base/raw_syscall.h"

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

namespace coz {

using CallSet = uint32_t;

inline constexpr long kSparedCalls[] = {
    SYS_perf_event_open, SYS_pidfd_open,       SYS_pidfd_getfd, SYS_sched_setaffinity,
    SYS_membarrier,      SYS_process_vm_readv, SYS_kcmp,        SYS_ptrace};

// 0: it is none of them.
constexpr CallSet CallBit(long number) {
  CallSet bit = 1;
  for (const long spared : kSparedCalls) {
    if (spared == number) return bit;
    bit <<= 1;
  }
  return 0;
}

// Those that would end this process. Written before it has threads, or by coz before the program
// has any of its own.
inline std::atomic<CallSet> g_deadly_calls{0};
// Those that a filter answers with an error, or ends the process for. The supervisor's only.
inline std::atomic<CallSet> g_filtered_calls{0};

inline bool IsFiltered(long number) {
  return (g_filtered_calls.load(std::memory_order_relaxed) & CallBit(number)) != 0;
}

// What to do where perf_event_open is filtered.
inline constexpr char kAllowPerfEvents[] =
    "allow perf_event_open in the filter of system calls (seccomp): docker run --cap-add=PERFMON, "
    "or "
    "SystemCallFilter=perf_event_open in a unit of systemd";

// -errno, as RawSyscall.
template <long kNumber, typename... Arguments>
inline long SparedRawCall(Arguments... arguments) {
  static_assert(CallBit(kNumber) != 0);
  if ((g_deadly_calls.load(std::memory_order_relaxed) & CallBit(kNumber)) != 0) return -EPERM;
  return RawSyscall(kNumber, arguments...);
}

// -1 and errno, as syscall(2).
template <long kNumber, typename... Arguments>
inline int SparedCall(Arguments... arguments) {
  const long result = SparedRawCall<kNumber>(arguments...);
  if (result >= 0) return static_cast<int>(result);
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace coz

#endif  // COZ_BASE_SPARED_CALLS_H_
