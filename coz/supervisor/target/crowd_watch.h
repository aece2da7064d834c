// Whether threads outnumber CPUs for a good part of the time, as seen by looks at the machine.
//
// A pool's thread that is woken beside its waker is queued for moments only. There threads are
// stalled, as in programs that have a CPU for each thread; see docs/design/delays.md, "More threads
// than CPUs".
//
// Shape    one per run
// Units    looks
// Errors   none
// Threads  one
// Signals  none
// Source   docs/design/delays.md, "More threads than CPUs"
#ifndef COZ_SUPERVISOR_TARGET_CROWD_WATCH_H_
#define COZ_SUPERVISOR_TARGET_CROWD_WATCH_H_

namespace coz::supervisor {

class CrowdWatch {
 public:
  // True in a crowd. Two bounds keep an experiment from being half of each.
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

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_CROWD_WATCH_H_
