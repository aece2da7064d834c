// Adds up a point's visits and their times over threads that write them meanwhile.
//
// Shape    one for a look at all threads
// Units    visits; ns
// Errors   a cell that is still being written after all tries is read as it is: its thread is
//          stopped or was killed between its two stores, or writes without an end
// Threads  compatible
// Signals  none
// Source   coz/shared/points.h, TimedCell
#ifndef COZ_SUPERVISOR_TARGET_TIMED_READER_H_
#define COZ_SUPERVISOR_TARGET_TIMED_READER_H_

#include <atomic>
#include <cstdint>

#include "coz/shared/points.h"

namespace coz::supervisor {

class TimedReader {
 public:
  static constexpr int kMostFailuresOfCell = 1000;
  static constexpr int kMostFailures = 10000;  // later cells are read once

  void Add(const shared::TimedCell& cell) {
    uint64_t visits = 0;
    uint64_t time_sum_ns = 0;
    const int most = failures_ + kMostFailuresOfCell;
    while (!Read(cell, &visits, &time_sum_ns)) {
      ++failures_;
      if (failures_ >= kMostFailures || failures_ >= most) break;
    }
    visits_ += visits;
    time_sum_ns_ += time_sum_ns;
  }

  uint64_t visits() const { return visits_; }
  uint64_t time_sum_ns() const { return time_sum_ns_; }
  // Reads so far of cells that were being written.
  int failures() const { return failures_; }

 private:
  // False: what it has read may not belong together.
  static bool Read(const shared::TimedCell& cell, uint64_t* visits, uint64_t* time_sum_ns) {
    const uint64_t changes = cell.changes.load(std::memory_order_acquire);
    *visits = cell.visits.load(std::memory_order_relaxed);
    *time_sum_ns = cell.time_sum_ns.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    return changes % 2 == 0 && cell.changes.load(std::memory_order_relaxed) == changes;
  }

  uint64_t visits_ = 0;
  uint64_t time_sum_ns_ = 0;
  int failures_ = 0;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_TIMED_READER_H_
