// Adds what this process's sampler and unwinder have counted to the control block, which holds the
// sums of all processes.
//
// Shape    each counter of COZ_PUBLISHED_COUNTERS is published as the difference to what was
//          published before
// Units    events, and ns of unsampled CPU time
// Errors   none
// Threads  safe
// Signals  async-signal-safe; Forget… is for the child of fork
// Source   coz/base/target_counters.h
#ifndef COZ_RUNTIME_PUBLISHED_COUNTERS_H_
#define COZ_RUNTIME_PUBLISHED_COUNTERS_H_

#include "coz/shared/control_block.h"

namespace coz::runtime {

void PublishCounters(shared::ControlBlock& control);

// In the child of fork: what was counted before is the parent's to publish.
void ForgetPublishedCounters();

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_PUBLISHED_COUNTERS_H_
