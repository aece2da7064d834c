#include "coz/supervisor/points/catch_up.h"

#include <algorithm>

namespace coz::supervisor {
namespace {

// More calls of one thread within each other were hardly under way when the pair was added.
constexpr uint64_t kMostNested = 16;

}  // namespace

uint64_t CatchUp::Departures(const EndSums& sums) {
  crosses_threads_ |= sums.most_without_begin > kMostNested;
  if (!crosses_threads_) return sums.ends;
  const uint64_t all = sums.ends + sums.without_begin;
  if (all > sums.begins) ahead_ = std::max(ahead_, all - sums.begins);
  return all - ahead_;
}

}  // namespace coz::supervisor
