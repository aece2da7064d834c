// When to look again for places in code that was loaded since the last look.
//
// To read where many processes have their code mapped takes milliseconds of a CPU that the program
// may want. So a look that takes long is followed by a longer time: looks take at most 0.5 %
// of a CPU.
//
// Shape    one per kind of look; a look is due at first
// Units    ns of CLOCK_MONOTONIC
// Errors   none
// Threads  the caller's own
#ifndef COZ_SUPERVISOR_POINTS_LOOK_PACE_H_
#define COZ_SUPERVISOR_POINTS_LOOK_PACE_H_

#include <algorithm>
#include <cstdint>

#include "coz/base/clock.h"

namespace coz::supervisor {

class LookPace {
 public:
  static constexpr uint64_t kShortestNs = 50 * kNsPerMs;
  static constexpr uint64_t kLongestNs = 2 * kNsPerSecond;
  static constexpr uint64_t kTimesCost = 200;

  bool IsDue(uint64_t now_ns) const { return now_ns >= next_ns_; }
  // A look has begun at `now_ns` and took `cost_ns`.
  void Looked(uint64_t now_ns, uint64_t cost_ns) {
    const uint64_t cost_bound_ns = std::min(cost_ns, kLongestNs / kTimesCost);
    next_ns_ = now_ns + std::max(kShortestNs, kTimesCost * cost_bound_ns);
  }

 private:
  uint64_t next_ns_ = 0;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_POINTS_LOOK_PACE_H_
