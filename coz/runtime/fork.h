// What a profiled process does when it forks.
//
// Shape    OnFork before, OnForkInChildProcess after it in the child; CountUnfollowed for a child
//          that cannot be followed
// Units    none
// Errors   a child that cannot be profiled runs on unprofiled
// Threads  safe
// Signals  async-signal-safe
// Source   docs/design/processes.md; pthread_atfork(3)
#ifndef COZ_RUNTIME_FORK_H_
#define COZ_RUNTIME_FORK_H_

namespace coz::runtime {

// Keeps the forking thread's local delay for the child.
void OnFork();

// Enters the child into the profile, or takes it out of it for good.
void OnForkInChildProcess();

// The process makes a child by a system call that does not copy it as fork does.
void CountUnfollowed();

// The calling thread makes one by a system call of its own. It is not profiled.
void BeforeRawThread();

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_FORK_H_
