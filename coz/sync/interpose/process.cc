// End of processes. Process: target. Context: the program's threads, and children of vfork on such
// a thread.
#include <stdlib.h>
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
