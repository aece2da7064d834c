// One-time initialisation. Process: target. Context: the program's threads.
//
// The thread that runs the routine works, and the others wait for it. Whether a call works or waits
// is known only when the routine is called.
#include <pthread.h>
#include <threads.h>

#include "coz/sync/interpose/blocked_scope.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

// A call in progress in this thread. They form a list, because a routine may make further calls.
struct OnceCall {
  const void* control;
  void (*routine)();
  BlockedScope* blocked;  // null once the routine runs
  OnceCall* outer;
};
__thread OnceCall* t_once __attribute__((tls_model("initial-exec"))) = nullptr;

void RunRoutine() {
  OnceCall* call = t_once;
  call->blocked->EndedOtherwise();
  call->blocked = nullptr;
  call->routine();
  PayBeforeWake(call->control);  // libc wakes the waiters next
}

// In glibc and musl the control is 2 once the routine has returned.
inline bool IsDone(const void* control) {
  return __atomic_load_n(static_cast<const int*>(control), __ATOMIC_ACQUIRE) == 2;
}

template <typename Call>
[[gnu::noinline]] int RunOnce(const void* control, void (*routine)(), Call real_call) {
  PayIfBehind();
  BlockedScope blocked;
  OnceCall call{control, routine, &blocked, t_once};
  t_once = &call;
  const int result = real_call(RunRoutine);
  // This is not reached where the routine throws or its thread is cancelled. That does no harm: the
  // next call of this thread reads only the entry that it has put into the list itself.
  t_once = call.outer;
  if (call.blocked != nullptr) blocked.End(result == 0, control);
  return result;
}

}  // namespace
}  // namespace coz::interpose

using coz::interpose::g_real;

extern "C" {

int pthread_once(pthread_once_t* control, void (*routine)()) {
  if (__builtin_expect(
          coz::interpose::IsDone(control) || coz::interpose::CurrentThreadLedger() == nullptr, 1)) {
    return g_real.pthread_once(control, routine);
  }
  return coz::interpose::RunOnce(
      control, routine, [control](void (*run)()) { return g_real.pthread_once(control, run); });
}

void call_once(once_flag* flag, void (*routine)()) {
  if (__builtin_expect(
          coz::interpose::IsDone(flag) || coz::interpose::CurrentThreadLedger() == nullptr, 1)) {
    g_real.call_once(flag, routine);
    return;
  }
  coz::interpose::RunOnce(flag, routine, [flag](void (*run)()) {
    g_real.call_once(flag, run);
    return 0;
  });
}

}  // extern "C"
