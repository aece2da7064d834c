// The end of processes, and processes that are to be traced. Process: target. Context: the
// program's threads, and children of vfork on such a thread.
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "coz/sync/interpose/process_end.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"

using coz::interpose::g_real;

extern "C" {

// exit() needs no wrapper: it pays by a handler that the runtime has registered.
void _exit(int status) {
  coz::interpose::PayBeforeProcessEnds();
  g_real._exit(status);
  __builtin_unreachable();
}

void _Exit(int status) noexcept {
  coz::interpose::PayBeforeProcessEnds();
  g_real._Exit(status);
  __builtin_unreachable();
}

void quick_exit(int status) noexcept {
  coz::interpose::PayBeforeProcessEnds();
  g_real.quick_exit(status);
  __builtin_unreachable();
}

}  // extern "C"

// Not variadic, as all arguments are words.
extern "C" long CozPtrace(int request, pid_t pid, void* address, void* data) asm("ptrace");

// The tracer would get each sample for a signal, the first perhaps before the exec that it expects.
long CozPtrace(int request, pid_t pid, void* address, void* data) {
  void (*const before_traced)() = coz::interpose::sync_internal::g_hooks.before_traced;
  if (request == PTRACE_TRACEME && before_traced != nullptr) before_traced();
  return g_real.ptrace(request, pid, address, data);
}
