// Condition variables, barriers and semaphores. Process: target. Context: the program's threads.
#include <pthread.h>
#include <semaphore.h>

#include <cerrno>

#include "coz/sync/interpose/blocked_scope.h"
#include "coz/sync/interpose/condition_wait.h"
#include "coz/sync/interpose/deadline.h"
#include "coz/sync/interpose/meetings.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/virtual_timeout.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

// The caller has taken a post without a wait. Only a thread that accrues may be earlier in virtual
// time than in real time.
inline void GoOnAfterLastPost(sem_t* semaphore) {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (thread == nullptr || __builtin_expect(!delay::Accrues(*thread), 1)) return;
  int left = 0;
  if (sem_getvalue(semaphore, &left) == 0 && left == 0) GoOnAfterPostHere(*thread, semaphore);
}

// Takes the semaphore. Makes `wait_call` where it cannot be taken at once.
template <typename WaitCall>
inline int WaitOnSemaphore(sem_t* semaphore, WaitCall wait_call) {
  PayIfBehind();
  pthread_testcancel();  // libc's calls are cancellation points even where they do not wait
  const int saved_errno = errno;
  if (g_real.sem_trywait(semaphore) == 0) {
    GoOnAfterLastPost(semaphore);
    return 0;
  }
  if (errno != EAGAIN) return -1;
  errno = saved_errno;
  BlockedScope blocked(WaitStart::kIsAhead);
  const int result = wait_call();
  blocked.End(result == 0, semaphore);
  return result;
}

template <typename WaitUntil>
inline int WaitOnSemaphoreUntil(sem_t* semaphore, const timespec* deadline, WaitUntil wait_until) {
  return WaitOnSemaphore(semaphore, [=] {
    return WaitInVirtualTime(deadline, wait_until,
                             [](int code) { return code != 0 && errno == ETIMEDOUT; });
  });
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::g_real;
using coz::interpose::PayAndCall;
using coz::interpose::PayBeforeWake;

extern "C" {

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return coz::interpose::WaitOnCondition(
      condition, mutex, [=] { return g_real.pthread_cond_wait(condition, mutex); });
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* deadline) {
  return coz::interpose::WaitOnConditionUntil(
      condition, mutex, deadline, [=](const timespec* until) {
        return g_real.pthread_cond_timedwait(condition, mutex, until);
      });
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* deadline) {
  return coz::interpose::WaitOnConditionUntil(
      condition, mutex, deadline, [=](const timespec* until) {
        return g_real.pthread_cond_clockwait(condition, mutex, clock, until);
      });
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  return PayAndCall(condition, [=] { return g_real.pthread_cond_signal(condition); });
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  return PayAndCall(condition, [=] { return g_real.pthread_cond_broadcast(condition); });
}

// A process-shared barrier has members whose arrivals this process does not see.
int pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes,
                         unsigned count) noexcept {
  const int result = g_real.pthread_barrier_init(barrier, attributes, count);
  int shared = PTHREAD_PROCESS_PRIVATE;
  if (attributes != nullptr) pthread_barrierattr_getpshared(attributes, &shared);
  const bool is_ours = result == 0 && shared == PTHREAD_PROCESS_PRIVATE;
  coz::interpose::NoteBarrier(barrier, is_ours ? count : 0);
  return result;
}

int pthread_barrier_destroy(pthread_barrier_t* barrier) noexcept {
  coz::interpose::NoteBarrier(barrier, 0);
  return g_real.pthread_barrier_destroy(barrier);
}

int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  PayBeforeWake(barrier);  // the last to arrive wakes the others
  const coz::delay::LatestTime* arrivals = coz::interpose::ArriveAtBarrier(barrier);
  coz::interpose::BlockedScope blocked;
  const int result = g_real.pthread_barrier_wait(barrier);
  blocked.End(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD, barrier);
  coz::interpose::LeaveMeeting(arrivals);
  return result;
}

int sem_wait(sem_t* semaphore) {
  if (coz::interpose::CurrentThreadLedger() == nullptr) return g_real.sem_wait(semaphore);
  return coz::interpose::WaitOnSemaphore(semaphore, [=] { return g_real.sem_wait(semaphore); });
}

int sem_trywait(sem_t* semaphore) noexcept {
  coz::interpose::PayIfBehind();
  return coz::interpose::NoteTry(g_real.sem_trywait(semaphore), -1);
}

int sem_timedwait(sem_t* semaphore, const timespec* deadline) {
  if (coz::interpose::CurrentThreadLedger() == nullptr ||
      !coz::interpose::IsValidDeadline(*deadline)) {
    return g_real.sem_timedwait(semaphore, deadline);
  }
  return coz::interpose::WaitOnSemaphoreUntil(semaphore, deadline, [=](const timespec* until) {
    return g_real.sem_timedwait(semaphore, until);
  });
}

int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* deadline) {
  if (coz::interpose::CurrentThreadLedger() == nullptr ||
      !coz::interpose::IsSupportedClock(clock) || !coz::interpose::IsValidDeadline(*deadline)) {
    return g_real.sem_clockwait(semaphore, clock, deadline);
  }
  return coz::interpose::WaitOnSemaphoreUntil(semaphore, deadline, [=](const timespec* until) {
    return g_real.sem_clockwait(semaphore, clock, until);
  });
}

int sem_post(sem_t* semaphore) noexcept {
  return coz::interpose::PayAndPost(semaphore, [=] { return g_real.sem_post(semaphore); });
}

}  // extern "C"
