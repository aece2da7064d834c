// The ends of a pair that was added while requests were under way: those whose begins were not
// counted do not count either.
//
// Where each thread ends what it began, changed code tells the two apart exactly: it counts an end
// by itself that finds no begin left in its thread. Where requests go from thread to thread, such
// ends are many, and only their sum tells: at least as many requests were under way at first as
// ends ever were ahead of begins.
//
// Shape    sums, in the order in which they are read
// Units    visits, cumulative
// Errors   none
// Threads  compatible
// Signals  none
// Source   docs/design/points.md, "Added while the program runs"
#ifndef COZ_SUPERVISOR_POINTS_CATCH_UP_H_
#define COZ_SUPERVISOR_POINTS_CATCH_UP_H_

#include <cstdint>

namespace coz::supervisor {

struct EndSums {
  uint64_t begins = 0;
  uint64_t ends = 0;  // that found a begin in their thread
  uint64_t without_begin = 0;
  uint64_t most_without_begin = 0;  // of one thread
};

class CatchUp {
 public:
  // The ends that count. Never falls.
  uint64_t Departures(const EndSums& sums);
  // Whether requests go from thread to thread.
  bool crosses_threads() const { return crosses_threads_; }

 private:
  bool crosses_threads_ = false;
  uint64_t ahead_ = 0;  // the most ends that had been counted beyond begins
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_POINTS_CATCH_UP_H_
