// Deadlines of waits: which ones libc accepts, and how to move them.
//
// Shape    predicates, a conversion and a sum
// Units    timespec of the clock that the call names
// Errors   none: where a predicate says no, libc's own call reports the error
// Threads  safe
// Signals  async-signal-safe
// Source   glibc 2.36 nptl/futex-internal.h, pthread_rwlock_common.c, sem_timedwait.c
#ifndef COZ_SYNC_INTERPOSE_DEADLINE_H_
#define COZ_SYNC_INTERPOSE_DEADLINE_H_

#include <time.h>

#include <cstdint>

namespace coz::interpose {

inline bool IsSupportedClock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

inline bool IsValidDeadline(const timespec& deadline) {
  return deadline.tv_nsec >= 0 && deadline.tv_nsec < 1'000'000'000;
}

inline timespec DurationOf(uint64_t ns) {
  constexpr uint64_t kNsPerS = 1'000'000'000;
  return {static_cast<time_t>(ns / kNsPerS), static_cast<long>(ns % kNsPerS)};
}

// A valid deadline moved by `delay_ns`.
inline timespec DeadlineAfter(const timespec& deadline, uint64_t delay_ns) {
  timespec sum = DurationOf(static_cast<uint64_t>(deadline.tv_nsec) + delay_ns);
  sum.tv_sec += deadline.tv_sec;
  return sum;
}

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_DEADLINE_H_
