// Goes on with a wait for completions of an io_uring that a sample has cut short.
//
// The kernel raises the signals of events on the way back to user space, but this wait does such
// work meanwhile. It then ends, whatever the signal's handler has asked for: with EINTR, or, where
// completions are there or requests were submitted, as if it had succeeded.
//
// Shape    the registers that a signal's handler returns to
// Units    none
// Errors   none: a wait that is not known as one stays as it is
// Threads  any; but if another thread takes the completions of this one's ring without a lock, a
//          wait that had them may wait for more
// Signals  async-signal-safe; costs two system calls where a ring's wait was cut, else none
// Source   io_uring_enter(2); io_uring/io_uring.c, io_cqring_wait and the system call itself
#ifndef COZ_BASE_RING_WAIT_H_
#define COZ_BASE_RING_WAIT_H_

#include <ucontext.h>

#include <cstdint>

namespace coz {

namespace ring_wait_internal {
bool MayBeCutShort(const greg_t* registers);
}  // namespace ring_wait_internal

// Whether the thread comes back from such a wait, which may be over. False for a wait with a
// time-out that does not fail: it may have passed.
inline bool MayBeCutRingWait(const ucontext_t& context) {
  const greg_t* registers = context.uc_mcontext.gregs;
  if (registers[REG_RCX] != registers[REG_RIP]) return false;  // a system call leaves that
  return ring_wait_internal::MayBeCutShort(registers);
}

// The wait is made again. Where it has submitted requests, which cannot be done twice, it is made
// here, and a signal outside `mask` ends it.
void GoOnWithRingWait(ucontext_t* context, uint64_t mask);

// The wait is over. A sample that comes before the thread runs on does not take it for one that may
// have been cut.
void LeaveRingWait(ucontext_t* context);

}  // namespace coz

#endif  // COZ_BASE_RING_WAIT_H_
