// Locks: mutexes, reader-writer locks, spin locks. Process: target. Context: the program's threads.
//
// A lock call pays first, so that threads get the lock in the order of virtual time. Then it tries
// the lock. If the try succeeds, the thread has not waited and gets no credit. An unlock pays
// first, because it may let another thread go on.
//
// The try must not hide an error. Some calls of libc check the clock or the nanoseconds of a
// time-out first, others only when they have to wait. A bad deadline goes to a call of the former
// kind without a try.
#include <pthread.h>
#include <sys/single_threaded.h>

#include <cerrno>

#include "coz/sync/interpose/blocked_scope.h"
#include "coz/sync/interpose/deadline.h"
#include "coz/sync/interpose/free_mutex.h"
#include "coz/sync/interpose/meetings.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/virtual_timeout.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

// Whether the lock is held after `result`. EOWNERDEAD is a success of a robust mutex.
bool Acquired(int result) { return result == 0 || result == EOWNERDEAD; }

template <typename WaitCall>
[[gnu::noinline]] int WaitForLock(const void* lock, WaitStart start, WaitCall wait_call) {
  BlockedScope blocked(start);
  const int result = wait_call();
  blocked.End(Acquired(result), lock);
  return result;
}

// Takes `lock` by `try_call`, else by `wait_call`. The latter is a wait that the unlocking thread
// ends.
template <typename Lock, typename Try, typename WaitCall>
[[gnu::always_inline]] inline int TryOrWait(Lock* lock, Try try_call, WaitCall wait_call) {
  const int tried = try_call(lock);
  if (__builtin_expect(tried != EBUSY, 1)) return tried;
  return WaitForLock(const_cast<const void*>(static_cast<const volatile void*>(lock)),
                     WaitStart::kIsAhead, wait_call);
}

template <typename Lock, typename Try, typename WaitCall>
[[gnu::noinline, gnu::cold]] int PayAndAcquire(Lock* lock, const void* site, Try try_call,
                                               WaitCall wait_call) {
  PayBeforeAcquireAt(*CurrentThreadLedger(),
                     const_cast<const void*>(static_cast<const volatile void*>(lock)), site);
  return TryOrWait(lock, try_call, wait_call);
}

template <typename Lock, typename Try, typename WaitCall>
[[gnu::always_inline]] inline int AcquireLock(Lock* lock, Try try_call, WaitCall wait_call) {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (__builtin_expect(thread == nullptr, 0)) return wait_call();
  if (__builtin_expect(CallerIsBehind(*thread), 0)) {
    const void* const object = const_cast<const void*>(static_cast<const volatile void*>(lock));
    if (!MaySkipAcquire(*thread, object, COZ_CALL_SITE())) {
      return PayAndAcquire(lock, COZ_CALL_SITE(), try_call, wait_call);
    }
  } else {
    NoteCall(*thread, COZ_CALL_SITE());
  }
  return TryOrWait(lock, try_call, wait_call);
}

// pthread_mutexattr_setrobust sets this bit of the kind. Robust mutexes are not tried: glibc's try
// returns ENOTRECOVERABLE for an unrecoverable one but keeps the mutex, so the next thread that
// locks it would wait for ever.
inline bool IsRobust(const pthread_mutex_t* mutex) {
  constexpr int kRobust = 16;
  return (mutex->__data.__kind & kRobust) != 0;
}

// While there is only one thread, there is no other to wait for. Then this calls libc's lock, which
// saves the atomic instruction that libc's try makes.
template <typename WaitCall>
[[gnu::always_inline]] inline int AcquireMutex(pthread_mutex_t* mutex, WaitCall wait_call) {
  if (__builtin_expect(IsRobust(mutex), 0)) {
    PayBeforeAcquire(mutex);
    return WaitForLock(mutex, WaitStart::kMayBeOver, wait_call);
  }
  if (__libc_single_threaded) {
    PayIfBehind<CallsThatEnd::kFew>();
    return wait_call();
  }
  const auto try_call = [](pthread_mutex_t* tried) {
    if (IsOfDefaultKind(*tried) && TakeFreeMutex(*tried)) return 0;
    return g_real.pthread_mutex_trylock(tried);
  };
  return AcquireLock(mutex, try_call, wait_call);
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::AcquireLock;
using coz::interpose::AcquireMutex;
using coz::interpose::g_real;
using coz::interpose::IsSupportedClock;
using coz::interpose::IsValidDeadline;
using coz::interpose::NoteTry;
using coz::interpose::PayAndCall;
using coz::interpose::PayAndRelease;
using coz::interpose::WaitInVirtualTime;

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  return AcquireMutex(mutex, [mutex] { return g_real.pthread_mutex_lock(mutex); });
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  coz::interpose::PayBeforeAcquire(mutex);
  return NoteTry(g_real.pthread_mutex_trylock(mutex), EBUSY);
}

int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* deadline) noexcept {
  return AcquireMutex(mutex, [=] {
    return WaitInVirtualTime(deadline, [=](const timespec* until) {
      return g_real.pthread_mutex_timedlock(mutex, until);
    });
  });
}

int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                            const timespec* deadline) noexcept {
  if (!IsSupportedClock(clock)) return g_real.pthread_mutex_clocklock(mutex, clock, deadline);
  return AcquireMutex(mutex, [=] {
    return WaitInVirtualTime(deadline, [=](const timespec* until) {
      return g_real.pthread_mutex_clocklock(mutex, clock, until);
    });
  });
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  return PayAndRelease(mutex, [=] { return g_real.pthread_mutex_unlock(mutex); });
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
  coz::interpose::PayIfBehind<coz::interpose::CallsThatEnd::kFew>();
  return NoteTry(g_real.pthread_rwlock_tryrdlock(lock), EBUSY);
}

int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  coz::interpose::PayIfBehind<coz::interpose::CallsThatEnd::kFew>();
  return NoteTry(g_real.pthread_rwlock_trywrlock(lock), EBUSY);
}

int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* deadline) noexcept {
  if (!IsValidDeadline(*deadline)) return g_real.pthread_rwlock_timedrdlock(lock, deadline);
  return AcquireLock(lock, g_real.pthread_rwlock_tryrdlock, [=] {
    return WaitInVirtualTime(deadline, [=](const timespec* until) {
      return g_real.pthread_rwlock_timedrdlock(lock, until);
    });
  });
}

int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* deadline) noexcept {
  if (!IsValidDeadline(*deadline)) return g_real.pthread_rwlock_timedwrlock(lock, deadline);
  return AcquireLock(lock, g_real.pthread_rwlock_trywrlock, [=] {
    return WaitInVirtualTime(deadline, [=](const timespec* until) {
      return g_real.pthread_rwlock_timedwrlock(lock, until);
    });
  });
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                               const timespec* deadline) noexcept {
  if (!IsSupportedClock(clock) || !IsValidDeadline(*deadline)) {
    return g_real.pthread_rwlock_clockrdlock(lock, clock, deadline);
  }
  return AcquireLock(lock, g_real.pthread_rwlock_tryrdlock, [=] {
    return WaitInVirtualTime(deadline, [=](const timespec* until) {
      return g_real.pthread_rwlock_clockrdlock(lock, clock, until);
    });
  });
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                               const timespec* deadline) noexcept {
  if (!IsSupportedClock(clock) || !IsValidDeadline(*deadline)) {
    return g_real.pthread_rwlock_clockwrlock(lock, clock, deadline);
  }
  return AcquireLock(lock, g_real.pthread_rwlock_trywrlock, [=] {
    return WaitInVirtualTime(deadline, [=](const timespec* until) {
      return g_real.pthread_rwlock_clockwrlock(lock, clock, until);
    });
  });
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  return PayAndCall<coz::interpose::CallsThatEnd::kFew>(
      lock, [=] { return g_real.pthread_rwlock_unlock(lock); });
}

int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  return AcquireLock(lock, g_real.pthread_spin_trylock,
                     [lock] { return g_real.pthread_spin_lock(lock); });
}

int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  coz::interpose::PayIfBehind<coz::interpose::CallsThatEnd::kFew>();
  return NoteTry(g_real.pthread_spin_trylock(lock), EBUSY);
}

int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  return PayAndCall<coz::interpose::CallsThatEnd::kFew>(
      const_cast<const void*>(static_cast<const volatile void*>(lock)),
      [=] { return g_real.pthread_spin_unlock(lock); });
}

}  // extern "C"
