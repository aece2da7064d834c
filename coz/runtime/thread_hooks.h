// What the runtime does in the wrapped calls and waits of threads.
//
// Shape    the hooks of coz/sync/interpose/thread_sync.h
// Units    ns of delay
// Errors   a thread that gets no slot runs unprofiled, which is counted
// Threads  safe
// Signals  as in coz/sync/interpose/thread_sync.h
// Source   docs/design/waits-and-credit.md
#ifndef COZ_RUNTIME_THREAD_HOOKS_H_
#define COZ_RUNTIME_THREAD_HOOKS_H_

#include "coz/sync/interpose/thread_sync.h"

namespace coz::runtime {

interpose::ThreadHooks RuntimeThreadHooks();

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_THREAD_HOOKS_H_
