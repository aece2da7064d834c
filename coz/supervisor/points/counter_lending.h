// Lets the profiled processes read the supervisor's counters of visits to places
// (coz/shared/lent_counters.h).
//
// Shape    the full list at each call; written if it differs from the one before
// Units    visits
// Errors   more counters than have room: none is lent
// Threads  one writer
// Signals  none
// Source   perf_event_open(2), PERF_EVENT_IOC_ID
#ifndef COZ_TOOLS_SUPERVISOR_COUNTER_LENDING_H_
#define COZ_TOOLS_SUPERVISOR_COUNTER_LENDING_H_

#include <cstdint>
#include <vector>

#include "coz/shared/control_block.h"

namespace coz::supervisor {

// What is counted for one end of a pair.
struct LendableCounter {
  uint32_t point;
  shared::PairEnd end;
  uint64_t visits_before;        // of counters that are closed, or that nobody adds to any more
  std::vector<int> descriptors;  // of perf events
};

// Whether all of it has room; if not, processes cannot read any.
bool LendCounters(const std::vector<LendableCounter>& counters, shared::LentCounters* lent);

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_COUNTER_LENDING_H_
