// How long somebody has waited for other processes, by short looks at the clock.
//
// Shape    of a gap between two looks, a second counts at most. All processes may be stopped
//          together for minutes (SIGSTOP, a suspended machine), in which nobody could end in time
// Units    ns of CLOCK_MONOTONIC, seconds
// Errors   none
// Threads  compatible
// Signals  none
// Source   none
#ifndef COZ_TESTING_FAULTS_WATCHED_TIME_H_
#define COZ_TESTING_FAULTS_WATCHED_TIME_H_

#include <algorithm>
#include <cstdint>

#include "coz/base/clock.h"

namespace coz::testing {

class WatchedTime {
 public:
  // Looks are to be made at least so often.
  static constexpr int kLookMs = 100;

  explicit WatchedTime(uint64_t now_ns) : last_ns_(now_ns) {}

  // A look.
  bool IsOver(uint64_t now_ns, int limit_s) {
    watched_ns_ += std::min(now_ns - last_ns_, kNsPerSecond);
    last_ns_ = now_ns;
    return watched_ns_ >= static_cast<uint64_t>(limit_s) * kNsPerSecond;
  }

 private:
  uint64_t last_ns_;
  uint64_t watched_ns_ = 0;
};

}  // namespace coz::testing

#endif  // COZ_TESTING_FAULTS_WATCHED_TIME_H_
