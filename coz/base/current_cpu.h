// The number of the CPU that the calling thread is on.
//
// Shape    a number from 0 on
// Units    none
// Errors   0 where the system does not tell
// Threads  safe
// Signals  async-signal-safe: libc reads it off the thread's rseq area, or calls the vDSO
// Source   sched_getcpu(3), rseq(2)
#ifndef COZ_BASE_CURRENT_CPU_H_
#define COZ_BASE_CURRENT_CPU_H_

#include <sched.h>

#include <cstdint>

namespace coz {

inline uint32_t CurrentCpu() {
  const int cpu = sched_getcpu();
  return cpu < 0 ? 0 : static_cast<uint32_t>(cpu);
}

}  // namespace coz

#endif  // COZ_BASE_CURRENT_CPU_H_
