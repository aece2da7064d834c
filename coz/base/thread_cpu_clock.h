// The calling thread's CPU time.
//
// Shape    unsigned 64-bit count
// Units    ns of CPU time since the thread began
// Errors   none
// Threads  safe: each thread reads its own
// Signals  async-signal-safe; a system call, made directly
// Source   clock_gettime(2), CLOCK_THREAD_CPUTIME_ID
#ifndef COZ_BASE_THREAD_CPU_CLOCK_H_
#define COZ_BASE_THREAD_CPU_CLOCK_H_

#include <sys/syscall.h>
#include <time.h>

#include <cstdint>

#include "coz/base/clock.h"
#include "coz/base/raw_syscall.h"

namespace coz {

inline uint64_t ThreadCpuNowNs() {
  timespec now = {};
  RawSyscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace coz

#endif  // COZ_BASE_THREAD_CPU_CLOCK_H_
