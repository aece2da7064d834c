// Code of this process that is changed to count visits: where its threads count, and the
// supervisor's requests.
//
// Shape    each thread has a pointer to its slot's counters, which the changed code follows. A
//          thread without a slot counts for nobody: in a slot that such threads share, where two
//          visits at one moment may count as one
// Units    visits; offsets in bytes
// Errors   a result for each patch that was asked for
// Threads  safe
// Signals  async-signal-safe
// Source   docs/design/points.md, "By changed code"
#ifndef COZ_RUNTIME_PATCHED_CODE_H_
#define COZ_RUNTIME_PATCHED_CODE_H_

#include <cstdint>

#include "coz/shared/control_block.h"

namespace coz::runtime::runtime_internal {

// What the changed code follows.
extern __thread char* t_counted __attribute__((tls_model("initial-exec"), visibility("hidden")));

// The calling thread's, or nobody's.
inline shared::ThreadSlot* CountedSlot() {
  return reinterpret_cast<shared::ThreadSlot*>(t_counted);
}

// From now on the calling thread counts in `slot`, or for nobody.
void CountVisitsIn(shared::ThreadSlot* slot);

// From the thread pointer to that pointer. The same in all threads.
int32_t CountersFsOffset();

// The visits of nobody are counted in a slot of the block, or, in a process that is not profiled
// any more, nowhere.
void ShareVisitsOfNobody(shared::ControlBlock& control, uint32_t process, int32_t pid);
void ShareNoVisits();
// The same for a process that is attached to, maybe not for the first time.
void ShareVisitsOfNobodyAgain(shared::ControlBlock& control, uint32_t process, int32_t pid);
// In the child of fork: that slot is the parent's.
void ForgetSlotOfNobody();

// Does what the supervisor asks of process `pid`, if it does.
void ChangeCodeIfAsked(shared::ControlBlock& control, int32_t pid);

}  // namespace coz::runtime::runtime_internal

#endif  // COZ_RUNTIME_PATCHED_CODE_H_
