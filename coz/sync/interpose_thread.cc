// Life of threads: creation, end, join. Process: target. Context: the program's threads.
#include <pthread.h>

#include <cerrno>
#include <cstdlib>

#include "coz/sync/thread_exit.h"
#include "coz/sync/thread_sync.h"
#include "coz/sync/wrapped_calls.h"

namespace coz {
namespace {

using sync_internal::g_hooks;

struct NewThread {
  StartRoutine routine;
  void* argument;
  ThreadLedger* ledger;
  uint64_t inherited_local_delay_ns;
};

void* RunNewThread(void* opaque) {
  NewThread* record = static_cast<NewThread*>(opaque);
  const NewThread thread = *record;
  free(record);
  g_hooks.start(thread.ledger);
  if (thread.ledger != nullptr) {
    EnterThreadSync(thread.ledger, thread.inherited_local_delay_ns);
    ArmThreadExit();
  }
  return thread.routine(thread.argument);
}

// The new thread starts at the creator's virtual time, so it inherits the creator's debt and nobody
// pays here.
int CreateProfiledThread(ThreadLedger* creator, pthread_t* thread, const pthread_attr_t* attributes,
                         StartRoutine routine, void* argument) {
  NewThread* record = static_cast<NewThread*>(malloc(sizeof(NewThread)));
  if (record == nullptr) return EAGAIN;
  *record = {routine, argument, g_hooks.reserve(),
             creator->local_delay_ns.load(std::memory_order_relaxed)};
  ThreadLedger* reserved = record->ledger;
  const int result = g_real.pthread_create(thread, attributes, RunNewThread, record);
  if (result != 0) {
    if (reserved != nullptr) g_hooks.cancel(reserved);
    free(record);
  }
  return result;
}

template <typename JoinCall>
inline int Join(pthread_t thread, JoinCall join_call) {
  PayIfBehind();
  BlockedScope blocked;
  const int result = join_call();
  blocked.End(result == 0, ThreadExitKey(thread));
  return result;
}

}  // namespace
}  // namespace coz

using coz::g_real;

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, coz::StartRoutine routine,
                   void* argument) noexcept {
  coz::ThreadLedger* creator = coz::CurrentThreadLedger();
  if (creator == nullptr) return g_real.pthread_create(thread, attributes, routine, argument);
  return coz::CreateProfiledThread(creator, thread, attributes, routine, argument);
}

int pthread_join(pthread_t thread, void** value) {
  return coz::Join(thread, [=] { return g_real.pthread_join(thread, value); });
}

int pthread_tryjoin_np(pthread_t thread, void** value) noexcept {
  coz::PayIfBehind();
  return g_real.pthread_tryjoin_np(thread, value);
}

int pthread_timedjoin_np(pthread_t thread, void** value, const timespec* deadline) {
  return coz::Join(thread, [=] { return g_real.pthread_timedjoin_np(thread, value, deadline); });
}

int pthread_clockjoin_np(pthread_t thread, void** value, clockid_t clock,
                         const timespec* deadline) {
  return coz::Join(thread,
                   [=] { return g_real.pthread_clockjoin_np(thread, value, clock, deadline); });
}

}  // extern "C"
