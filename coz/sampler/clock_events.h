// The events by which clocks of the CPUs sample this process's threads (SamplingSource::kCpuClock),
// so that one thread can switch those of all.
//
// Shape    one set for the process
// Units    none
// Errors   a negative errno; -EMFILE also where there is no room for one more
// Threads  safe
// Signals  async-signal-safe
// Source   coz/sampler/perf_event.h
#ifndef COZ_SAMPLER_CLOCK_EVENTS_H_
#define COZ_SAMPLER_CLOCK_EVENTS_H_

#include <cstdint>

#include "coz/sampler/clock_expiry.h"

namespace coz::sampler {

// Opens an event of thread `tid`, which all threads that it creates inherit, and enables it. It
// stays when the thread ends, as theirs would go with it. 0, or -errno.
int AddClockEvent(int32_t tid, const ClockExpiry& expiry);

void EnableClockEvents();
void DisableClockEvents();
void CloseClockEvents();

// In the child of fork, which has closed its copies.
void ForgetClockEvents();

// The program has taken a descriptor's number, and the event has another one; or none: -1.
void NoteClockEventMove(int from, int to);

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_CLOCK_EVENTS_H_
