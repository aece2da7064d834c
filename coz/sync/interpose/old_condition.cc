// Conditions of glibc before 2.3.2, which programs of that age use still: pthread_cond_*@GLIBC_2.2.5. Process: target. Context: the
// program's threads.
//
// Such a program's pthread_cond_init, which is not wrapped, sets no more of the object than a pointer, to what libc makes when it is first
// waited on. Today's calls would take what is beside it for their state, so each version is passed on to its own.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "coz/sync/interpose/condition_wait.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

struct OldCall {
  const char* name;
  std::atomic<void*> found{nullptr};
};

template <typename Function>
Function* Real(OldCall& call) {
  void* found = call.found.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = dlvsym(RTLD_NEXT, call.name, "GLIBC_2.2.5");
    if (found ==
        nullptr) {  // the loader has bound the program to it, or would have refused to start it
      fprintf(stderr, "coz: libc has no %s of version GLIBC_2.2.5\n", call.name);
      abort();
    }
    call.found.store(found, std::memory_order_relaxed);
  }
  return reinterpret_cast<Function*>(found);
}

OldCall g_wait = {"pthread_cond_wait"};
OldCall g_timedwait = {"pthread_cond_timedwait"};
OldCall g_signal = {"pthread_cond_signal"};
OldCall g_broadcast = {"pthread_cond_broadcast"};

int Wake(OldCall& call, pthread_cond_t* condition) {
  auto* const real = Real<int(pthread_cond_t*)>(call);
  return PayAndCall(condition, [=] { return real(condition); });
}

}  // namespace
}  // namespace coz::interpose

extern "C" {

asm(".symver CozOldConditionWait, pthread_cond_wait@GLIBC_2.2.5");
int CozOldConditionWait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  auto* const real =
      coz::interpose::Real<int(pthread_cond_t*, pthread_mutex_t*)>(coz::interpose::g_wait);
  return coz::interpose::WaitOnCondition(condition, mutex, [=] { return real(condition, mutex); });
}

asm(".symver CozOldConditionTimedWait, pthread_cond_timedwait@GLIBC_2.2.5");
int CozOldConditionTimedWait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                             const timespec* deadline) {
  auto* const real = coz::interpose::Real<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(
      coz::interpose::g_timedwait);
  return coz::interpose::WaitOnConditionUntil(
      condition, mutex, deadline,
      [=](const timespec* until) { return real(condition, mutex, until); });
}

asm(".symver CozOldConditionSignal, pthread_cond_signal@GLIBC_2.2.5");
int CozOldConditionSignal(pthread_cond_t* condition) {
  return coz::interpose::Wake(coz::interpose::g_signal, condition);
}

asm(".symver CozOldConditionBroadcast, pthread_cond_broadcast@GLIBC_2.2.5");
int CozOldConditionBroadcast(pthread_cond_t* condition) {
  return coz::interpose::Wake(coz::interpose::g_broadcast, condition);
}

}  // extern "C"
