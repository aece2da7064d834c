// Visits to BEGIN and END marks with their times, for the true time average of requests under way,
// and for the latency of each.
//
// Shape    sums of virtual times per thread and point in the control block; requests under way in a
//          table of the process
// Units    ns of virtual time: CLOCK_MONOTONIC less the thread's local delay, so that pauses do not
//          count
// Errors   more than kMaxTimedPoints points: visits are counted without their time; a request that
//          finds no room in the table, or was begun in another process, is missing in the histogram
// Threads  CountTimedVisit: the slot's thread. RequestTable: safe
// Signals  async-signal-safe
// Source   Little's law: the mean number under way, times the duration, is the sum of departure
//          times less that of arrival times (docs/progress-points.md)
#ifndef COZ_RUNTIME_TIMED_VISITS_H_
#define COZ_RUNTIME_TIMED_VISITS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "coz/shared/control_block.h"

namespace coz::runtime {

// The thread's virtual time.
uint64_t VirtualNowNs(const delay::ThreadLedger& ledger);

// The same for a visit to a point. First imposes what has accrued for the time that the thread has
// run so far: after the visit, it would shorten the time until the next request instead of this
// one.
uint64_t VirtualTimeOfVisitNs(delay::GlobalLedger& global, delay::ThreadLedger& ledger);

// Counts a visit to the point with its time; without it where the point gets no cell.
void CountTimedVisit(shared::ControlBlock& control, shared::ThreadSlot& thread,
                     shared::PointSlot& point, uint64_t virtual_ns);

// When requests began, by point and number.
class RequestTable {
 public:
  void Begin(const shared::PointSlot& end_point, uint64_t id, uint64_t virtual_ns);
  // The time since its Begin, or false where that is not known.
  bool End(const shared::PointSlot& end_point, uint64_t id, uint64_t virtual_ns,
           uint64_t* latency_ns);

 private:
  static constexpr size_t kEntries = 1 << 14;
  static constexpr size_t kProbes = 32;
  struct Entry {
    std::atomic<uint64_t> key;  // 0: free
    std::atomic<uint64_t> begin_ns;
  };
  static uint64_t KeyOf(const shared::PointSlot& end_point, uint64_t id);

  Entry entries_[kEntries];
};

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_TIMED_VISITS_H_
