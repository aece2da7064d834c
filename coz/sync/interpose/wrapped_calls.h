// The table of libc calls that the runtime stands in front of, and the way to the real ones.
//
// Shape    COZ_WRAPPED_CALLS(X): X(presence, version, result, name, parameters, arguments).
//          `version` is the symbol version to bind where libc has several, else nullptr. An optional
//          call may be missing in an older libc: its pointer then returns ENOSYS.
// Units    none
// Errors   a required call that libc lacks ends the resolution with a message and abort: no such
//          libc exists
// Threads  safe: resolution is idempotent
// Signals  the pointers are async-signal-safe as far as what they point to, once ResolveRealCalls
//          has run
// Source   dlsym(3), dlvsym(3); glibc 2.36 headers
#ifndef COZ_SYNC_INTERPOSE_WRAPPED_CALLS_H_
#define COZ_SYNC_INTERPOSE_WRAPPED_CALLS_H_

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>

#include <cstddef>

#include "coz/sync/interpose/wrapped_calls_table.h"

namespace coz::interpose {

using StartRoutine = void* (*)(void*);
using SignalHandler = void (*)(int);

struct RealCalls {
#define COZ_X(presence, version, result, name, parameters, arguments) result(*name) parameters;
  COZ_WRAPPED_CALLS(COZ_X)
#undef COZ_X
};

// libc's own functions. Usable from the first instruction on: before ResolveRealCalls each pointer
// resolves the table itself, because constructors of other libraries may run before the runtime's.
extern RealCalls g_real __attribute__((visibility("hidden")));

void ResolveRealCalls();

}  // namespace coz::interpose

// Another public name that libc has for a call, beside that call's definition: one name for one address, as a call from here by the
// first name would go to a function of that name in the program. Which there are, libc says: coz/runtime/libcoz_map_test.sh.
#define COZ_SECOND_NAME(second, name) asm(".globl " #second "\n.set " #second ", " #name)

#endif  // COZ_SYNC_INTERPOSE_WRAPPED_CALLS_H_
