// Takes a free mutex in the caller, without libc's call. The call costs as much as all else that a
// wrapped lock does.
//
// A mutex of the default kind is taken as glibc takes it: `__lock` goes from 0 to 1, `__owner` is
// the thread's id, `__nusers` counts. These fields are in the program's binary interface
// (PTHREAD_MUTEX_INITIALIZER), but what libc writes there is its own affair. So CheckFreeMutexes
// compares a mutex that was taken here with one that libc took. Where they differ, every try is
// libc's.
//
// Shape    one flag for the process, and the thread's id
// Units    none
// Errors   none; TakeFreeMutex returns false wherever libc's try has to be called
// Threads  safe; CheckFreeMutexes is called once, before threads are profiled
// Signals  async-signal-safe
// Source   glibc's nptl/pthread_mutex_trylock.c, case PTHREAD_MUTEX_TIMED_NP
#ifndef COZ_SYNC_INTERPOSE_FREE_MUTEX_H_
#define COZ_SYNC_INTERPOSE_FREE_MUTEX_H_

#include <pthread.h>

#include <cstdint>

namespace coz::interpose {

namespace sync_internal {
// 0 where the thread leaves every try to libc.
extern __thread int32_t t_mutex_owner
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
}  // namespace sync_internal

// Finds out whether TakeFreeMutex may take mutexes in this process. Takes libc's own calls.
using MutexCall = int (*)(pthread_mutex_t*);
bool CheckFreeMutexes(MutexCall try_lock, MutexCall unlock);

// The calling thread takes free mutexes from now on. It must be called again in a child of fork.
void TakeFreeMutexesHere();

// The default kind: neither recursive nor robust nor shared, and libc elides no locks of it.
inline bool IsOfDefaultKind(const pthread_mutex_t& mutex) { return mutex.__data.__kind == 0; }

// Takes `mutex`, which is of the default kind, if it is free. False: call libc.
[[gnu::always_inline]] inline bool TakeFreeMutex(pthread_mutex_t& mutex) {
  const int32_t owner = sync_internal::t_mutex_owner;
  if (__builtin_expect(owner == 0, 0)) return false;
  int free = 0;
  if (!__atomic_compare_exchange_n(&mutex.__data.__lock, &free, 1, false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED)) {
    return false;
  }
  mutex.__data.__owner = owner;
  ++mutex.__data.__nusers;
  return true;
}

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_FREE_MUTEX_H_
