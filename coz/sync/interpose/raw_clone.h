// Processes that a program makes by syscall() or clone(), so that libc's fork and its handlers do
// not run: which system calls make one, and how the child learns that it is new.
//
// Shape    one predicate, and a call before and after the system call, for syscall() in futex.cc
//          and clone() in clone.cc
// Units    none
// Errors   none: arguments that the kernel would refuse go to the kernel
// Threads  safe
// Signals  async-signal-safe
// Source   clone(2), fork(2)
#ifndef COZ_SYNC_INTERPOSE_RAW_CLONE_H_
#define COZ_SYNC_INTERPOSE_RAW_CLONE_H_

#include <sys/syscall.h>

namespace coz::interpose {

inline bool IsCloneCall(long number) {
  return number == SYS_clone || number == SYS_fork || number == SYS_clone3;
}

// Whether the call copies the process as fork does: the child has its own memory, descriptors and
// stack, and returns to the caller of a wrapper. If it makes another kind of process, the hook
// `unfollowed` is called, and if it makes a thread, `raw_thread`.
bool CopiesProcess(long number, long a, long b);

// To be called before such a call, and after it in both processes. `child` is its result.
void BeforeRawFork();
void AfterRawFork(long child);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_RAW_CLONE_H_
