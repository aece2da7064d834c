// Runs the exit hook of a profiled thread however it ends: by return, pthread_exit, cancellation.
//
// Shape    one pthread key; its destructor pays the thread's debt and gives the ledger back
// Units    none
// Errors   where the program has used up all keys, the ledger is not given back; InitThreadExit
//          says so
// Threads  safe
// Signals  not async-signal-safe
// Source   pthread_key_create(3). A destructor, not a cleanup handler: cleanup in C++ unwinds
//          through libgcc, and the runtime has its own copy of that.
#ifndef COZ_SYNC_INTERPOSE_THREAD_EXIT_H_
#define COZ_SYNC_INTERPOSE_THREAD_EXIT_H_

#include <pthread.h>

#include <cstdint>

namespace coz::interpose {

// Once, before any thread is created.
bool InitThreadExit();

// In the thread whose exit is to be seen.
void ArmThreadExit();

// What the exit of `thread` is known by in the wake table.
inline const void* ThreadExitKey(pthread_t thread) {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(thread));
}

// When `thread`, which has been joined, ended in virtual time; 0 where that is not known.
uint64_t VirtualEndOf(pthread_t thread);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_THREAD_EXIT_H_
