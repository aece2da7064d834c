// Life of threads: creation, end, join. Process: target. Context: the program's threads.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdlib>

#include "coz/sync/thread_exit.h"
#include "coz/sync/thread_sync.h"
#include "coz/sync/virtual_timeout.h"
#include "coz/sync/wrapped_calls.h"

namespace coz {
namespace {

using sync_internal::g_hooks;

// `Routine` is POSIX's or C11's.
template <typename Routine>
struct NewThread {
  Routine routine;
  void* argument;
  ThreadLedger* ledger;
  uint64_t inherited_local_delay_ns;
};

template <typename Routine>
auto RunNewThread(void* opaque) {
  NewThread<Routine>* record = static_cast<NewThread<Routine>*>(opaque);
  const NewThread<Routine> thread = *record;
  free(record);
  // A sample that came before this has taken a ledger for itself.
  if (ThreadLedger* early = LeaveThreadSync()) g_hooks.cancel(early);
  if (thread.ledger != nullptr) EnterThreadSync(thread.ledger, thread.inherited_local_delay_ns);
  g_hooks.start(thread.ledger);
  if (thread.ledger != nullptr) ArmThreadExit();
  return thread.routine(thread.argument);
}

// The new thread starts at the creator's virtual time, so it inherits the creator's debt and nobody
// pays here. `create_call` takes routine and argument, and returns 0 on success in both interfaces.
template <typename Routine, typename CreateCall>
int CreateProfiledThread(ThreadLedger* creator, Routine routine, void* argument, int no_memory,
                         CreateCall create_call) {
  auto* record = static_cast<NewThread<Routine>*>(malloc(sizeof(NewThread<Routine>)));
  if (record == nullptr) return no_memory;
  ReleaseHeld(*creator);
  *record = {routine, argument, g_hooks.reserve(),
             creator->local_delay_ns.load(std::memory_order_relaxed)};
  ThreadLedger* reserved = record->ledger;
  const int result = create_call(RunNewThread<Routine>, record);
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
  return coz::CreateProfiledThread(creator, routine, argument, EAGAIN,
                                   [=](coz::StartRoutine run, void* record) {
                                     return g_real.pthread_create(thread, attributes, run, record);
                                   });
}

int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  coz::ThreadLedger* creator = coz::CurrentThreadLedger();
  if (creator == nullptr) return g_real.thrd_create(thread, routine, argument);
  return coz::CreateProfiledThread(
      creator, routine, argument, thrd_nomem,
      [=](thrd_start_t run, void* record) { return g_real.thrd_create(thread, run, record); });
}

int thrd_join(thrd_t thread, int* result) {
  return coz::Join(thread, [=] { return g_real.thrd_join(thread, result); });
}

int pthread_cancel(pthread_t thread) {
  coz::PayIfBehind();  // it wakes the thread if that waits
  return g_real.pthread_cancel(thread);
}

int pthread_join(pthread_t thread, void** value) {
  return coz::Join(thread, [=] { return g_real.pthread_join(thread, value); });
}

int pthread_tryjoin_np(pthread_t thread, void** value) noexcept {
  coz::PayIfBehind();
  return g_real.pthread_tryjoin_np(thread, value);
}

int pthread_timedjoin_np(pthread_t thread, void** value, const timespec* deadline) {
  return coz::Join(thread, [=] {
    return coz::WaitInVirtualTime(deadline, [=](const timespec* until) {
      return g_real.pthread_timedjoin_np(thread, value, until);
    });
  });
}

int pthread_clockjoin_np(pthread_t thread, void** value, clockid_t clock,
                         const timespec* deadline) {
  return coz::Join(thread, [=] {
    return coz::WaitInVirtualTime(deadline, [=](const timespec* until) {
      return g_real.pthread_clockjoin_np(thread, value, clock, until);
    });
  });
}

}  // extern "C"
