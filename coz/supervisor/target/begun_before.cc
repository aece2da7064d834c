#include "coz/supervisor/target/begun_before.h"

#include <algorithm>

namespace coz::supervisor {

void BegunBefore::LookAtThread(uint32_t thread, const PairVisits& visits) {
  if (had_one_.size() <= thread) had_one_.resize(thread + 1);
  if (visits.departures > visits.arrivals && !had_one_[thread]) {
    had_one_[thread] = true;
    ++threads_that_had_one_;
  }
  // More than one under way, or fewer than none.
  const uint64_t begun = visits.arrivals + (had_one_[thread] ? 1 : 0);
  passes_on_ |= begun > visits.departures + 1 || begun < visits.departures;
}

void BegunBefore::LookAtAll(const PairVisits& visits) {
  if (visits.departures > visits.arrivals) {
    ahead_ = std::max(ahead_, visits.departures - visits.arrivals);
  }
}

uint64_t BegunBefore::requests() const {
  return passes_on_ ? ahead_ : std::max(ahead_, threads_that_had_one_);
}

}  // namespace coz::supervisor
