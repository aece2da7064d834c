// System calls that a program makes itself, without libc (Go). Changed code comes here in place of
// the system call instruction, and the call goes the way of libc's wrapped one.
//
// Shape    one routine, for stubs (coz/patch/code_patch.h, CallEdge)
// Units    none
// Errors   as the kernel gives them: -errno
// Threads  safe
// Signals  async-signal-safe
// Source   docs/design/goroutines.md; x86-64 psABI, appendix A.2.1
#ifndef COZ_SYNC_INTERPOSE_OWN_CALLS_H_
#define COZ_SYNC_INTERPOSE_OWN_CALLS_H_

#include <cstdint>

namespace coz::interpose {

// Begins to give threads the stacks that it needs, and returns its address. A call of a thread
// without such a stack, and any that is not wrapped, is made as it was.
uint64_t OwnCallRoutine();

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_OWN_CALLS_H_
