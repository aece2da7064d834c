// The latency of calls into libraries, for a point: each call counts when its end is seen, with the
// virtual time that it took.
//
// So none is under way in these figures. A call without an end (an exception, longjmp, the thread's
// end), one that began before it could be seen and an end without a begin count for nothing, and
// spoil no sum. By Little's law the sum of the times, over the duration, is the mean number under
// way.
//
// Shape    cumulative sums over all threads
// Units    calls; ns of virtual time, modulo 2^64
// Errors   none: what a hostile target writes gives any figure
// Threads  compatible
// Signals  none
// Source   coz/shared/call_timers.h, CallLatency
#ifndef COZ_SUPERVISOR_TARGET_CALL_LATENCIES_H_
#define COZ_SUPERVISOR_TARGET_CALL_LATENCIES_H_

#include <cstdint>

#include "coz/shared/control_block.h"

namespace coz::supervisor {

struct CallLatencySums {
  uint64_t calls = 0;
  uint64_t time_ns = 0;
};

class CallLatencies {
 public:
  // `latency`: index of the sums.
  CallLatencies(const shared::ControlBlock* control, uint32_t latency)
      : control_(*control), latency_(latency) {}

  CallLatencySums Read();

 private:
  const shared::ControlBlock& control_;
  const uint32_t latency_;
  // As of the last Read. The length of a tick is known better and better, and must not change the
  // times of calls that have ended.
  uint64_t ticks_ = 0;
  uint64_t wall_ns_ = 0;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_CALL_LATENCIES_H_
