// The time between two samples of a thread, where none is asked for.
//
// Shape    one number for each seed
// Units    ns of thread CPU time
// Errors   none
// Threads  any
// Signals  async-signal-safe
// Source   docs/studies/sampling-period.md, "In step"
#ifndef COZ_BASE_SAMPLING_PERIOD_H_
#define COZ_BASE_SAMPLING_PERIOD_H_

#include <cstdint>

namespace coz {

inline constexpr uint64_t kLeastDefaultPeriodNs = 850 * 1000;
inline constexpr uint64_t kMostDefaultPeriodNs = 1000 * 1000;

// Whatever the period, some program keeps step with it: one that does things in rounds that are
// just as long. So each run has another one, and what is in step in one run is not in the next.
// Seeds in turn, which the runs of a series have, give periods that are spread evenly: parts of the
// range, multiples of the golden ratio.
inline uint64_t DefaultSamplingPeriodNs(uint64_t seed) {
  constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
  constexpr uint64_t kUnitNs = 1000;  // as one may type it
  constexpr uint64_t kChoices = (kMostDefaultPeriodNs - kLeastDefaultPeriodNs) / kUnitNs;
  const uint64_t part = seed * kGoldenRatio;
  const auto choice =
      static_cast<uint64_t>((static_cast<unsigned __int128>(part) * kChoices) >> 64);
  return kLeastDefaultPeriodNs + choice * kUnitNs;
}

}  // namespace coz

#endif  // COZ_BASE_SAMPLING_PERIOD_H_
