// A wait on a condition, by any of libc's calls.
//
// Shape    two functions that take libc's call as a function
// Units    those of the call
// Errors   those of the call
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/design/waits-and-credit.md, "The rule"
#ifndef COZ_SYNC_INTERPOSE_CONDITION_WAIT_H_
#define COZ_SYNC_INTERPOSE_CONDITION_WAIT_H_

#include <pthread.h>

#include <cerrno>

#include "coz/sync/interpose/blocked_scope.h"
#include "coz/sync/interpose/meetings.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/virtual_timeout.h"

namespace coz::interpose {

// Waits on `condition`; the wait gives up `mutex` meanwhile. A wait that timed out brings no
// credit, because the clock ended it.
template <typename WaitCall>
inline int WaitOnCondition(const void* condition, const pthread_mutex_t* mutex,
                           WaitCall wait_call) {
  PayBeforeConditionWait(mutex);
  BlockedScope blocked(WaitStart::kIsAhead);
  const int result = wait_call();
  blocked.End(result == 0 || result == EOWNERDEAD, condition);
  return result;
}

// The same by `wait_until(deadline)`, in virtual time.
template <typename WaitUntil>
inline int WaitOnConditionUntil(const void* condition, const pthread_mutex_t* mutex,
                                const timespec* deadline, WaitUntil wait_until) {
  return WaitOnCondition(condition, mutex, [=] { return WaitInVirtualTime(deadline, wait_until); });
}

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_CONDITION_WAIT_H_
