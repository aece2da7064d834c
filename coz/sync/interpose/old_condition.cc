// Conditions of glibc before 2.3.2: pthread_cond_*@GLIBC_2.2.5. Programs of that age still use
// them. Process: target. Context: the program's threads.
//
// The two versions have different objects. An old program's pthread_cond_init is not wrapped and
// writes only a pointer. libc makes the object behind it at the first wait. The new calls would
// take the bytes beside that pointer for their state. So each version goes to libc's call of that
// version.
#include <pthread.h>

#include "coz/sync/interpose/condition_wait.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"

using coz::interpose::g_real_old;
using coz::interpose::PayAndCall;

extern "C" {

asm(".symver CozOldConditionWait, pthread_cond_wait@GLIBC_2.2.5");
int CozOldConditionWait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return coz::interpose::WaitOnCondition(
      condition, mutex, [=] { return g_real_old.pthread_cond_wait(condition, mutex); });
}

asm(".symver CozOldConditionTimedWait, pthread_cond_timedwait@GLIBC_2.2.5");
int CozOldConditionTimedWait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                             const timespec* deadline) {
  return coz::interpose::WaitOnConditionUntil(
      condition, mutex, deadline, [=](const timespec* until) {
        return g_real_old.pthread_cond_timedwait(condition, mutex, until);
      });
}

asm(".symver CozOldConditionSignal, pthread_cond_signal@GLIBC_2.2.5");
int CozOldConditionSignal(pthread_cond_t* condition) {
  return PayAndCall(condition, [=] { return g_real_old.pthread_cond_signal(condition); });
}

asm(".symver CozOldConditionBroadcast, pthread_cond_broadcast@GLIBC_2.2.5");
int CozOldConditionBroadcast(pthread_cond_t* condition) {
  return PayAndCall(condition, [=] { return g_real_old.pthread_cond_broadcast(condition); });
}

}  // extern "C"
