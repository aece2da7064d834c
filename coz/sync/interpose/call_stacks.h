// Stacks of our own on which a thread makes the system calls that the program makes itself: Go's
// code has a few hundred bytes there, and wrapped calls want thousands.
//
// Shape    kCallStacks for each thread, so that a handler that interrupts such a call may make one;
//          one that interrupts that makes it as if there were no profiler
// Units    bytes
// Errors   a thread that gets no memory has none, and its calls are not seen
// Threads  each has its own
// Signals  async-signal-safe
// Source   docs/design/goroutines.md
#ifndef COZ_SYNC_INTERPOSE_CALL_STACKS_H_
#define COZ_SYNC_INTERPOSE_CALL_STACKS_H_

#include <cstddef>
#include <cstdint>

namespace coz::interpose {

inline constexpr size_t kCallStackBytes = 32768;
inline constexpr size_t kCallStacks = 2;

// Read and changed by the routine (own_calls.cc): where the next stack begins, from above, and
// where the last one ends. Equal where none is left.
struct CallStacks {
  uint64_t top;
  uint64_t limit;
};
extern __thread CallStacks t_call_stacks asm("coz_call_stacks")
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// From now on each thread that takes part in the profile gets its stacks.
void GiveCallStacksToThreads();
// To be called in each such thread, which may have its stacks already.
void TakeCallStacksIfGiven();
// To be called at the thread's end.
void FreeCallStacks();

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_CALL_STACKS_H_
