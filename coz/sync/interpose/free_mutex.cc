#include "coz/sync/interpose/free_mutex.h"

#include <sys/syscall.h>

#include <cstring>

#include "coz/base/raw_syscall.h"

namespace coz::interpose {

namespace sync_internal {
__thread int32_t t_mutex_owner = 0;
}  // namespace sync_internal

namespace {

bool g_takes_free_mutexes = false;

// To the byte, whatever their fields are.
bool AreEqual(const pthread_mutex_t& a, const pthread_mutex_t& b) {
  return memcmp(&a, &b, sizeof(a)) == 0;  // NOLINT(bugprone-suspicious-memory-comparison)
}

// Whether libc sees a mutex that was taken here as its own.
bool TakesAsLibc(MutexCall try_lock, MutexCall unlock) {
  const pthread_mutex_t initial = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t here = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t by_libc = PTHREAD_MUTEX_INITIALIZER;
  if (!IsOfDefaultKind(here) || !TakeFreeMutex(here)) return false;
  if (try_lock(&by_libc) != 0) return false;
  const bool are_equal = AreEqual(here, by_libc) && !TakeFreeMutex(by_libc);
  return unlock(&here) == 0 && unlock(&by_libc) == 0 && are_equal && AreEqual(here, initial) &&
         AreEqual(by_libc, initial);
}

void SetOwnerHere() { sync_internal::t_mutex_owner = static_cast<int32_t>(RawSyscall(SYS_gettid)); }

}  // namespace

bool CheckFreeMutexes(MutexCall try_lock, MutexCall unlock) {
  SetOwnerHere();
  g_takes_free_mutexes = TakesAsLibc(try_lock, unlock);
  sync_internal::t_mutex_owner = 0;
  return g_takes_free_mutexes;
}

void TakeFreeMutexesHere() {
  if (g_takes_free_mutexes) SetOwnerHere();
}

}  // namespace coz::interpose
