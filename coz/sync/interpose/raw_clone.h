// Processes that a program makes by syscall(), past libc's fork and its handlers: which system calls do, and how the child is told.
//
// Shape    one question and one call, for interpose_futex.cc's syscall()
// Units    none
// Errors   none: arguments that the kernel would refuse are passed on to it
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

// Whether the call copies the process as fork does, so that the child has memory, descriptors and a stack of its own and returns to the
// caller of a wrapper. Where it makes a process that does not, the hook `unfollowed` is told.
bool CopiesProcess(long number, long a, long b);

// Before such a call, and after it in both processes: `child` is what it returned.
void BeforeRawFork();
void AfterRawFork(long child);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_RAW_CLONE_H_
