// Runs the exit hook of a profiled thread, whether it ends by return, pthread_exit or cancellation.
//
// Shape    one pthread key; its destructor pays the thread's debt and gives the ledger back
// Units    none
// Errors   where the program has used up all keys, the ledger is not given back. InitThreadExit
//          then returns false
// Threads  safe
// Signals  not async-signal-safe
// Source   pthread_key_create(3). It is a destructor and not a cleanup handler, because cleanup in
//          C++ unwinds through libgcc, and the runtime has its own copy of libgcc.
#ifndef COZ_SYNC_INTERPOSE_THREAD_EXIT_H_
#define COZ_SYNC_INTERPOSE_THREAD_EXIT_H_

#include <pthread.h>

#include <cstdint>

namespace coz::interpose {

// To be called before any thread is profiled. Later calls change nothing.
bool InitThreadExit();

// To be called in the thread whose exit is to run the hook.
void ArmThreadExit();

// The same for a thread that may be in the middle of anything, such as malloc. Does nothing where
// libc would have to allocate for it.
void ArmThreadExitAnywhere();

// The key of the exit of `thread` in the wake table.
inline const void* ThreadExitKey(pthread_t thread) {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(thread));
}

// The virtual time at which `thread` ended, or 0 where that is unknown. The thread has been joined.
uint64_t VirtualEndOf(pthread_t thread);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_THREAD_EXIT_H_
