// How many requests are under way when a delay is imposed, of pairs whose visits have no virtual time: the original's header, marks of two
// names, and places. Delay is imposed while a request is served, that is when more are under way than on average.
//
// Shape    sums in the control block, which the supervisor reads with each look
// Units    ns of delay, times a number
// Errors   none; a pair is left out as long as its counters are spread over many threads, or cannot be read
// Threads  safe
// Signals  async-signal-safe
// Source   docs/progress-points.md, "Latency"
#ifndef COZ_RUNTIME_CHARGED_PAIRS_H_
#define COZ_RUNTIME_CHARGED_PAIRS_H_

#include <cstdint>

#include "coz/runtime/control_block.h"

namespace coz {

// Visits to the point so far, but for those with times; by its counter and those of the threads.
uint64_t UntimedVisits(const ControlBlock& control, uint32_t point);

// Before the delay is imposed.
void ChargePairs(ControlBlock& control, uint64_t delay_ns);

}  // namespace coz

#endif  // COZ_RUNTIME_CHARGED_PAIRS_H_
