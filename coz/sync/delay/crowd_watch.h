// Whether threads outnumber CPUs for a good part of the time, as seen by looks at evenly spaced
// times. Other programs' threads make no crowd: a pause that keeps its CPU does not keep them from
// theirs.
//
// A pool's thread that is woken beside its waker is queued for moments only. There threads are
// stalled, as in programs that have a CPU for each thread; see docs/design/delays.md, "More threads
// than CPUs".
//
// Shape    one per run, in the supervisor; and in the simulator
// Units    looks, one every kLookNs
// Errors   none
// Threads  one
// Signals  none
// Source   docs/design/delays.md, "More threads than CPUs"
#ifndef COZ_SYNC_DELAY_CROWD_WATCH_H_
#define COZ_SYNC_DELAY_CROWD_WATCH_H_

#include <cstdint>

namespace coz::delay {

class CrowdWatch {
 public:
  static constexpr uint64_t kLookNs = 20'000'000;

  // Both kinds of threads are the target's. True in a crowd. Two bounds keep an experiment from
  // being half of each.
  bool Look(int live_threads, int runnable_threads, int cpus) {
    share_ += ((runnable_threads > cpus ? 1.0 : 0.0) - share_) / kLooks;
    is_crowd_ = live_threads > cpus && share_ > (is_crowd_ ? kEnds : kBegins);
    return is_crowd_;
  }

 private:
  static constexpr double kLooks = 32;  // that the share is an average of
  static constexpr double kBegins = 0.25;
  static constexpr double kEnds = 0.1;

  double share_ = 0;  // of looks that saw more runnable threads than CPUs
  bool is_crowd_ = false;
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_CROWD_WATCH_H_
