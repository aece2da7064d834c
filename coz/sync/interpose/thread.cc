// Life of threads: creation, end, join. Process: target. Context: the program's threads.
#include <pthread.h>
#include <signal.h>
#include <threads.h>

#include <cerrno>
#include <cstdlib>

#include "coz/sync/interpose/blocked_scope.h"
#include "coz/sync/interpose/thread_exit.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/virtual_timeout.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

using sync_internal::g_hooks;

// What the attributes ask for a new thread, or the standard attributes where there are none.
struct Asked {
  // At least this much stack lies below the thread's descriptor; 0 where that is unknown. libc
  // keeps the guard at the inner end of the stack. It keeps the descriptor at the outer end, or
  // further in by up to the alignment of thread-local data.
  uint64_t stack_bytes = 0;
  bool has_mask = false;
  sigset_t mask;
};

Asked WhatIsAsked(const pthread_attr_t* attributes) {
  constexpr size_t kPageBytes = 4096;
  constexpr size_t kDescriptorAndRounding = 3 * kPageBytes;
  Asked asked;
  pthread_attr_t standard;
  if (attributes == nullptr && pthread_getattr_default_np(&standard) != 0) return asked;
  size_t stack = 0;
  size_t guard = 0;
  const pthread_attr_t* const given = attributes != nullptr ? attributes : &standard;
  const bool known = pthread_attr_getstacksize(given, &stack) == 0 &&
                     pthread_attr_getguardsize(given, &guard) == 0;
  if (known && stack > kDescriptorAndRounding && stack - kDescriptorAndRounding > guard) {
    asked.stack_bytes = stack - kDescriptorAndRounding - guard;
  }
  asked.has_mask = pthread_attr_getsigmask_np(given, &asked.mask) == 0;
  if (attributes == nullptr) pthread_attr_destroy(&standard);
  return asked;
}

// `Routine` is POSIX's or C11's type.
template <typename Routine>
auto RunNewThread(delay::ThreadLedger* ledger, const delay::ThreadStart& start) {
  // A sample that came before this point has taken another ledger for the thread.
  if (delay::ThreadLedger* early = LeaveThreadSync()) g_hooks.cancel(early);
  if (ledger != nullptr) EnterThreadSync(ledger, start.inherited_local_delay_ns);
  if (ledger != nullptr && start.created_ns != 0) StartOnCpu(*ledger, start.created_ns);
  g_hooks.start(ledger, start.stack_bytes);
  if (ledger != nullptr) ArmThreadExit();
  return reinterpret_cast<Routine>(start.routine)(start.argument);
}

struct MaskedStart {
  void* routine;
  void* argument;
  sigset_t mask;
};

// libc has set the thread's mask with the reserved signals in it, so samples could not come. So
// this sets the mask again by the wrapped call. It leaves the reserved signals out of the mask and
// lets the program believe that they are in it.
template <typename Routine>
auto RunWithMask(void* opaque) {
  auto* const record = static_cast<MaskedStart*>(opaque);
  const MaskedStart start = *record;
  free(record);
  pthread_sigmask(SIG_SETMASK, &start.mask, nullptr);
  return reinterpret_cast<Routine>(start.routine)(start.argument);
}

template <typename Routine>
auto RunThreadWithLedger(void* opaque) {
  auto* const ledger = static_cast<delay::ThreadLedger*>(opaque);
  const delay::ThreadStart start = ledger->start;
  return RunNewThread<Routine>(ledger, start);
}

template <typename Routine>
auto RunThreadWithout(void* opaque) {
  auto* const record = static_cast<delay::ThreadStart*>(opaque);
  const delay::ThreadStart start = *record;
  free(record);
  return RunNewThread<Routine>(nullptr, start);
}

// Creates a thread that starts at the creator's virtual time. It inherits the creator's debt, so
// nobody pays here. `create_call` takes routine and argument, and returns 0 on success in both
// interfaces. The thread finds what it is to run in its ledger and not on the heap, because the
// first use of the heap costs a thread an arena.
template <typename Routine, typename CreateCall>
int CreateProfiledThread(const delay::ThreadStart& start, int no_memory, CreateCall create_call) {
  delay::ThreadLedger* const reserved = g_hooks.reserve();
  if (reserved != nullptr) {
    reserved->start = start;
    const int result = create_call(RunThreadWithLedger<Routine>, reserved);
    if (result != 0) g_hooks.cancel(reserved);
    return result;
  }
  auto* const record = static_cast<delay::ThreadStart*>(malloc(sizeof(delay::ThreadStart)));
  if (record == nullptr) return no_memory;
  *record = start;
  const int result = create_call(RunThreadWithout<Routine>, record);
  if (result != 0) free(record);
  return result;
}

template <typename Routine, typename CreateCall>
[[gnu::always_inline]] inline int CreateThread(delay::ThreadLedger* creator,
                                               const pthread_attr_t* attributes, Routine routine,
                                               void* argument, int no_memory,
                                               CreateCall create_call) {
  NoteCallHere(*creator, COZ_CALL_SITE());
  const Asked asked = WhatIsAsked(attributes);
  const bool may_be_queued = delay::MayBeCrowded(*sync_internal::g_ledger);
  delay::ThreadStart start = {reinterpret_cast<void*>(routine), argument, asked.stack_bytes,
                              creator->local_delay_ns.load(std::memory_order_relaxed),
                              may_be_queued ? MonotonicNowNs() : 0};
  if (!asked.has_mask) {
    return CreateProfiledThread<Routine>(start, no_memory, create_call);
  }
  auto* const record = static_cast<MaskedStart*>(malloc(sizeof(MaskedStart)));
  if (record == nullptr) return no_memory;
  *record = {start.routine, start.argument, asked.mask};
  const Routine run = RunWithMask<Routine>;
  start.routine = reinterpret_cast<void*>(run);
  start.argument = record;
  const int result = CreateProfiledThread<Routine>(start, no_memory, create_call);
  if (result != 0) free(record);
  return result;
}

template <typename JoinCall>
[[gnu::always_inline]] inline int Join(pthread_t thread, JoinCall join_call) {
  PayIfBehind();
  BlockedScope blocked;
  const int result = join_call();
  blocked.End(result == 0, ThreadExitKey(thread));
  delay::ThreadLedger* joiner = CurrentThreadLedger();
  const uint64_t end_ns = result == 0 && joiner != nullptr ? VirtualEndOf(thread) : 0;
  // The thread may have ended long ago. It then has paid only the delay that was inserted until its
  // end.
  if (end_ns != 0) {
    delay::GoOnAfter(*sync_internal::g_ledger, *joiner, end_ns, MonotonicNowNs());
  }
  return result;
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::g_real;

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                   coz::interpose::StartRoutine routine, void* argument) noexcept {
  coz::delay::ThreadLedger* creator = coz::interpose::CurrentThreadLedger();
  if (creator == nullptr) return g_real.pthread_create(thread, attributes, routine, argument);
  return coz::interpose::CreateThread(creator, attributes, routine, argument, EAGAIN,
                                      [=](coz::interpose::StartRoutine run, void* record) {
                                        return g_real.pthread_create(thread, attributes, run,
                                                                     record);
                                      });
}

int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  coz::delay::ThreadLedger* creator = coz::interpose::CurrentThreadLedger();
  if (creator == nullptr) return g_real.thrd_create(thread, routine, argument);
  return coz::interpose::CreateThread(
      creator, nullptr, routine, argument, thrd_nomem,
      [=](thrd_start_t run, void* record) { return g_real.thrd_create(thread, run, record); });
}

int thrd_join(thrd_t thread, int* result) {
  return coz::interpose::Join(thread, [=] { return g_real.thrd_join(thread, result); });
}

int pthread_cancel(pthread_t thread) {
  coz::interpose::PayIfBehind();  // the cancellation wakes the thread if that waits
  return g_real.pthread_cancel(thread);
}

int pthread_join(pthread_t thread, void** value) {
  return coz::interpose::Join(thread, [=] { return g_real.pthread_join(thread, value); });
}

int pthread_tryjoin_np(pthread_t thread, void** value) noexcept {
  coz::interpose::PayIfBehind();
  return g_real.pthread_tryjoin_np(thread, value);
}

int pthread_timedjoin_np(pthread_t thread, void** value, const timespec* deadline) {
  return coz::interpose::Join(thread, [=] {
    return coz::interpose::WaitInVirtualTime(deadline, [=](const timespec* until) {
      return g_real.pthread_timedjoin_np(thread, value, until);
    });
  });
}

int pthread_clockjoin_np(pthread_t thread, void** value, clockid_t clock,
                         const timespec* deadline) {
  return coz::interpose::Join(thread, [=] {
    return coz::interpose::WaitInVirtualTime(deadline, [=](const timespec* until) {
      return g_real.pthread_clockjoin_np(thread, value, clock, until);
    });
  });
}

}  // extern "C"
