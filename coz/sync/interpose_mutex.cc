// Locks: mutexes, reader-writer locks, spin locks. Process: target. Context: the program's threads.
//
// A lock call pays first, so that the order in which threads get the lock is that of virtual time,
// then tries: where the try succeeds the thread did not wait and nothing is credited. An unlock
// pays first, because it may let another thread go on.
#include <pthread.h>

#include <cerrno>

#include "coz/sync/thread_sync.h"
#include "coz/sync/wrapped_calls.h"

namespace coz {
namespace {

// `acquired` are the results with which a lock is held: EOWNERDEAD is success of a robust mutex.
bool Acquired(int result) { return result == 0 || result == EOWNERDEAD; }

// Takes `lock` by `try_call`, or else by `wait_call` as a wait that the thread which unlocks ends.
template <typename Lock, typename Try, typename WaitCall>
inline int AcquireLock(Lock* lock, Try try_call, WaitCall wait_call) {
  if (CurrentThreadLedger() == nullptr) return wait_call();
  PayIfBehind();
  const int tried = try_call(lock);
  if (__builtin_expect(tried != EBUSY, 1)) return tried;
  BlockedScope blocked;
  const int result = wait_call();
  blocked.End(Acquired(result), const_cast<const void*>(static_cast<const volatile void*>(lock)));
  return result;
}

}  // namespace
}  // namespace coz

using coz::AcquireLock;
using coz::g_real;
using coz::PayBeforeWake;

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  return AcquireLock(mutex, g_real.pthread_mutex_trylock,
                     [mutex] { return g_real.pthread_mutex_lock(mutex); });
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  coz::PayIfBehind();
  return g_real.pthread_mutex_trylock(mutex);
}

int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* deadline) noexcept {
  return AcquireLock(mutex, g_real.pthread_mutex_trylock,
                     [=] { return g_real.pthread_mutex_timedlock(mutex, deadline); });
}

int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                            const timespec* deadline) noexcept {
  return AcquireLock(mutex, g_real.pthread_mutex_trylock,
                     [=] { return g_real.pthread_mutex_clocklock(mutex, clock, deadline); });
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  PayBeforeWake(mutex);
  return g_real.pthread_mutex_unlock(mutex);
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  return AcquireLock(lock, g_real.pthread_rwlock_tryrdlock,
                     [lock] { return g_real.pthread_rwlock_rdlock(lock); });
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  return AcquireLock(lock, g_real.pthread_rwlock_trywrlock,
                     [lock] { return g_real.pthread_rwlock_wrlock(lock); });
}

int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  coz::PayIfBehind();
  return g_real.pthread_rwlock_tryrdlock(lock);
}

int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  coz::PayIfBehind();
  return g_real.pthread_rwlock_trywrlock(lock);
}

int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* deadline) noexcept {
  return AcquireLock(lock, g_real.pthread_rwlock_tryrdlock,
                     [=] { return g_real.pthread_rwlock_timedrdlock(lock, deadline); });
}

int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* deadline) noexcept {
  return AcquireLock(lock, g_real.pthread_rwlock_trywrlock,
                     [=] { return g_real.pthread_rwlock_timedwrlock(lock, deadline); });
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                               const timespec* deadline) noexcept {
  return AcquireLock(lock, g_real.pthread_rwlock_tryrdlock,
                     [=] { return g_real.pthread_rwlock_clockrdlock(lock, clock, deadline); });
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                               const timespec* deadline) noexcept {
  return AcquireLock(lock, g_real.pthread_rwlock_trywrlock,
                     [=] { return g_real.pthread_rwlock_clockwrlock(lock, clock, deadline); });
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  PayBeforeWake(lock);
  return g_real.pthread_rwlock_unlock(lock);
}

int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  return AcquireLock(lock, g_real.pthread_spin_trylock,
                     [lock] { return g_real.pthread_spin_lock(lock); });
}

int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  coz::PayIfBehind();
  return g_real.pthread_spin_trylock(lock);
}

int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  PayBeforeWake(const_cast<const void*>(static_cast<const volatile void*>(lock)));
  return g_real.pthread_spin_unlock(lock);
}

}  // extern "C"
