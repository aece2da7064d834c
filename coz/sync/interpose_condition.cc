// Condition variables, barriers and semaphores. Process: target. Context: the program's threads.
#include <pthread.h>
#include <semaphore.h>

#include <cerrno>

#include "coz/sync/deadline.h"
#include "coz/sync/thread_sync.h"
#include "coz/sync/wrapped_calls.h"

namespace coz {
namespace {

// A wait on `condition` that gives up `mutex` meanwhile. A timed-out wait was ended by the clock.
template <typename WaitCall>
inline int WaitOnCondition(pthread_cond_t* condition, pthread_mutex_t* mutex, WaitCall wait_call) {
  PayBeforeWake(mutex);  // the wait unlocks it
  BlockedScope blocked;
  const int result = wait_call();
  blocked.End(result == 0 || result == EOWNERDEAD, condition);
  return result;
}

template <typename WaitCall>
inline int WaitOnSemaphore(sem_t* semaphore, WaitCall wait_call) {
  if (CurrentThreadLedger() == nullptr) return wait_call();
  PayIfBehind();
  pthread_testcancel();  // libc's waits are cancellation points even where they need not wait
  const int saved_errno = errno;
  if (g_real.sem_trywait(semaphore) == 0) return 0;
  if (errno != EAGAIN) return -1;
  errno = saved_errno;
  BlockedScope blocked;
  const int result = wait_call();
  blocked.End(result == 0, semaphore);
  return result;
}

}  // namespace
}  // namespace coz

using coz::g_real;
using coz::PayAndCall;
using coz::PayBeforeWake;

extern "C" {

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return coz::WaitOnCondition(condition, mutex,
                              [=] { return g_real.pthread_cond_wait(condition, mutex); });
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* deadline) {
  return coz::WaitOnCondition(
      condition, mutex, [=] { return g_real.pthread_cond_timedwait(condition, mutex, deadline); });
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* deadline) {
  return coz::WaitOnCondition(condition, mutex, [=] {
    return g_real.pthread_cond_clockwait(condition, mutex, clock, deadline);
  });
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  return PayAndCall(condition, [=] { return g_real.pthread_cond_signal(condition); });
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  return PayAndCall(condition, [=] { return g_real.pthread_cond_broadcast(condition); });
}

int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  PayBeforeWake(barrier);  // the last to arrive wakes the others
  coz::BlockedScope blocked;
  const int result = g_real.pthread_barrier_wait(barrier);
  blocked.End(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD, barrier);
  return result;
}

int sem_wait(sem_t* semaphore) {
  return coz::WaitOnSemaphore(semaphore, [=] { return g_real.sem_wait(semaphore); });
}

int sem_trywait(sem_t* semaphore) noexcept {
  coz::PayIfBehind();
  return g_real.sem_trywait(semaphore);
}

int sem_timedwait(sem_t* semaphore, const timespec* deadline) {
  if (!coz::IsValidDeadline(*deadline)) return g_real.sem_timedwait(semaphore, deadline);
  return coz::WaitOnSemaphore(semaphore, [=] { return g_real.sem_timedwait(semaphore, deadline); });
}

int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* deadline) {
  if (!coz::IsSupportedClock(clock) || !coz::IsValidDeadline(*deadline)) {
    return g_real.sem_clockwait(semaphore, clock, deadline);
  }
  return coz::WaitOnSemaphore(semaphore,
                              [=] { return g_real.sem_clockwait(semaphore, clock, deadline); });
}

int sem_post(sem_t* semaphore) noexcept {
  return PayAndCall(semaphore, [=] { return g_real.sem_post(semaphore); });
}

}  // extern "C"
