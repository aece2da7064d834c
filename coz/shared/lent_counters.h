// Lets a process read the supervisor's counters of visits to places. When it imposes delay, it has
// to know how many requests are under way in all programs.
//
// Shape    copies of the supervisor's descriptors. A process takes them when its program starts,
//          when it is a child of fork, and when the supervisor has lent others
// Units    visits of all threads of all programs
// Errors   false where a counter cannot be had: descriptors or permission are lacking, or another
//          thread is taking copies
// Threads  TakeLentCounters, ForgetLentCounters: while the process has one thread.
//          ReadLentVisits: any
// Signals  ReadLentVisits is async-signal-safe; it waits for other readers in the kernel
// Source   pidfd_getfd(2), perf_event_open(2)
#ifndef COZ_SHARED_LENT_COUNTERS_H_
#define COZ_SHARED_LENT_COUNTERS_H_

#include <cstdint>

#include "coz/shared/control_block.h"

namespace coz::shared {

void TakeLentCounters(const ControlBlock& control);

// For the child of fork: its copies were closed with all reserved descriptors.
void ForgetLentCounters();

// Visits so far to one end of the supervisor's point.
bool ReadLentVisits(const ControlBlock& control, uint32_t point, PairEnd end, uint64_t* visits);

}  // namespace coz::shared

#endif  // COZ_SHARED_LENT_COUNTERS_H_
