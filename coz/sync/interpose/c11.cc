// C11 locks and conditions. In glibc they are the same objects as POSIX's, but have calls of their
// own. Process: target. Context: the program's threads.
#include <threads.h>

#include "coz/sync/interpose/blocked_scope.h"
#include "coz/sync/interpose/meetings.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/virtual_timeout.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

template <typename WaitCall>
int AcquireC11(mtx_t* mutex, WaitCall wait_call) {
  if (CurrentThreadLedger() == nullptr) return wait_call();
  PayBeforeAcquire(mutex);
  const int tried = g_real.mtx_trylock(mutex);
  if (tried != thrd_busy) return tried;
  BlockedScope blocked(WaitStart::kIsAhead);
  const int result = wait_call();
  blocked.End(result == thrd_success, mutex);
  return result;
}

template <typename WaitCall>
int WaitOnC11Condition(cnd_t* condition, mtx_t* mutex, WaitCall wait_call) {
  PayBeforeConditionWait(mutex);
  BlockedScope blocked(WaitStart::kIsAhead);
  const int result = wait_call();
  blocked.End(result == thrd_success, condition);
  return result;
}

template <typename WaitUntil>
int WaitC11InVirtualTime(const timespec* deadline, WaitUntil wait_until) {
  return WaitInVirtualTime(deadline, wait_until, [](int code) { return code == thrd_timedout; });
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::g_real;
using coz::interpose::PayAndCall;

extern "C" {

int mtx_lock(mtx_t* mutex) {
  return coz::interpose::AcquireC11(mutex, [=] { return g_real.mtx_lock(mutex); });
}

int mtx_timedlock(mtx_t* mutex, const timespec* deadline) {
  return coz::interpose::AcquireC11(mutex, [=] {
    return coz::interpose::WaitC11InVirtualTime(
        deadline, [=](const timespec* until) { return g_real.mtx_timedlock(mutex, until); });
  });
}

int mtx_trylock(mtx_t* mutex) {
  coz::interpose::PayBeforeAcquire(mutex);
  return coz::interpose::NoteTry(g_real.mtx_trylock(mutex), thrd_busy);
}

int mtx_unlock(mtx_t* mutex) {
  return coz::interpose::PayAndRelease(mutex, [=] { return g_real.mtx_unlock(mutex); });
}

int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return coz::interpose::WaitOnC11Condition(condition, mutex,
                                            [=] { return g_real.cnd_wait(condition, mutex); });
}

int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* deadline) {
  return coz::interpose::WaitOnC11Condition(condition, mutex, [=] {
    return coz::interpose::WaitC11InVirtualTime(deadline, [=](const timespec* until) {
      return g_real.cnd_timedwait(condition, mutex, until);
    });
  });
}

int cnd_signal(cnd_t* condition) {
  return PayAndCall(condition, [=] { return g_real.cnd_signal(condition); });
}

int cnd_broadcast(cnd_t* condition) {
  return PayAndCall(condition, [=] { return g_real.cnd_broadcast(condition); });
}

}  // extern "C"
