// Tells whether threads outnumber CPUs for a good part of the time, by looks at even times. Threads
// of other programs make no crowd: a pause that keeps its CPU does not keep them from theirs.
//
// Short queues make no crowd either: a thread of a pool that is woken beside its waker is queued
// only for moments, and so is one that is woken beside who looks. There the runtime stalls threads
// instead of CPUs, as in programs that have a CPU for each thread. Threads that mostly wait for a
// disk are no crowd either, where these waits are units: idle CPUs tell of it.
//
// A thread that pauses counts as one that can run: it stands for work. Else delays would end a
// crowd, and pauses would sleep from then on. One that pauses behind a sleep or input does not
// (kWaitingOn).
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

  // Takes one look and returns whether there is a crowd. Both counts are of the target's threads,
  // those that pause among the runnable ones. A crowd begins above one bound and ends below a lower
  // one, so that an experiment is seldom half in a crowd and half not. It lasts while a program has
  // few threads for a moment, as one that makes new threads for each task. `idle_cpus`: the mean of
  // a time shortly before in which no delay was inserted; 0 also where it does not matter.
  bool Look(int live_threads, int runnable_threads, int cpus, double idle_cpus = 0) {
    share_ += ((runnable_threads > cpus ? 1.0 : 0.0) - share_) / kLooks;
    idle_ += (idle_cpus / cpus - idle_) / kLooks;
    looks_at_few_ = live_threads > cpus ? 0 : looks_at_few_ + 1;
    is_crowd_ = looks_at_few_ <= kMostLooksAtFew && share_ > (is_crowd_ ? kEnds : kBegins) &&
                idle_ < (is_crowd_ ? kIdleAtEnd : kIdleAtBegin);
    return is_crowd_;
  }

 private:
  static constexpr double kLooks = 32;  // how many looks the share is an average of
  static constexpr double kBegins = 0.25;
  static constexpr double kEnds = 0.1;
  static constexpr int kMostLooksAtFew = 15;
  static constexpr double kIdleAtBegin = 0.2;
  static constexpr double kIdleAtEnd = 0.3;

  double share_ = 0;      // the share of looks that saw more runnable threads than CPUs
  double idle_ = 0;       // the share of idle CPUs
  int looks_at_few_ = 0;  // in a row, that saw no more threads than CPUs
  bool is_crowd_ = false;
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_CROWD_WATCH_H_
