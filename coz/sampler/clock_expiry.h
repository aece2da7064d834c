// How the kernel tells that a perf event's clock has expired, be it the event of a CPU.
//
// Shape    plain data; zeros: not known
// Units    none
// Errors   none
// Threads  compatible
// Signals  async-signal-safe
// Source   include/trace/events/timer.h: hrtimer_expire_entry; kernel/events/core.c:
//          perf_swevent_hrtimer
#ifndef COZ_SAMPLER_CLOCK_EXPIRY_H_
#define COZ_SAMPLER_CLOCK_EXPIRY_H_

#include <cstdint>

namespace coz::sampler {

struct ClockExpiry {
  uint64_t tracepoint = 0;  // the number of the one for timers that expire
  uint64_t function = 0;    // the address of what such a clock calls then
};

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_CLOCK_EXPIRY_H_
