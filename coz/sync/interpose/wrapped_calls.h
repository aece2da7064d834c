// Pointers from each wrapped call to libc's own.
//
// Shape    one pointer for each row of COZ_WRAPPED_CALLS and COZ_OLD_CALLS (wrapped_calls_table.h):
//          X(presence, version, result, name, parameters, arguments). `version` is the symbol
//          version to bind where libc has several, else nullptr.
//          kRequired: every libc has the call. kOptional: an older libc may lack the call; it then
//          fails with ENOSYS. kOldVersion: only that version will do, and it is looked up at the
//          first call
// Units    none
// Errors   where a call is missing and not optional, the process ends with a message. The program
//          could not have started with such a libc
// Threads  safe: resolution is idempotent
// Signals  once ResolveRealCalls has run, the pointers of g_real are as async-signal-safe as what
//          they point to. The pointers of g_real_old are so only after their first call
// Source   dlsym(3), dlvsym(3)
#ifndef COZ_SYNC_INTERPOSE_WRAPPED_CALLS_H_
#define COZ_SYNC_INTERPOSE_WRAPPED_CALLS_H_

#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

// libc's own functions. They are usable from the first instruction on, because constructors of
// other libraries may run before the runtime's. Until ResolveRealCalls has run, a call through any
// pointer first resolves the whole table.
extern RealCalls g_real __attribute__((visibility("hidden")));

void ResolveRealCalls();

// The same for calls of an old version. Each pointer resolves all of them at the first call.
struct RealOldCalls {
#define COZ_X(presence, version, result, name, parameters, arguments) result(*name) parameters;
  COZ_OLD_CALLS(COZ_X)
#undef COZ_X
};
extern RealOldCalls g_real_old __attribute__((visibility("hidden")));

}  // namespace coz::interpose

// Gives the call that is defined above the line another of libc's public names. This makes one
// function with two names. A second function would have to call the first name, and the program may
// define that name itself. coz/runtime/exports_test.sh asks libc which second names there are.
#define COZ_SECOND_NAME(second, name) asm(".globl " #second "\n.set " #second ", " #name)

#endif  // COZ_SYNC_INTERPOSE_WRAPPED_CALLS_H_
