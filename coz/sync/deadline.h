// Which deadlines libc accepts before it has to wait.
//
// Shape    two predicates
// Units    timespec of the clock named beside it
// Errors   none: where they say no, libc's own call says why
// Threads  safe
// Signals  async-signal-safe
// Source   glibc 2.36 nptl/futex-internal.h, pthread_rwlock_common.c, sem_timedwait.c
#ifndef COZ_SYNC_DEADLINE_H_
#define COZ_SYNC_DEADLINE_H_

#include <time.h>

namespace coz {

inline bool IsSupportedClock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

inline bool IsValidDeadline(const timespec& deadline) {
  return deadline.tv_nsec >= 0 && deadline.tv_nsec < 1000 * 1000 * 1000;
}

}  // namespace coz

#endif  // COZ_SYNC_DEADLINE_H_
