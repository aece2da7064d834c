// The sampling period of a run for which the user gives none.
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

inline constexpr uint64_t kLeastDefaultPeriodNs = 850'000;
inline constexpr uint64_t kMostDefaultPeriodNs = 1'000'000;

// The CPU time that a CPU timer's sample stands for, whatever its period: the kernel's tick.
inline constexpr uint64_t kCpuTimerSampleNs = 4'000'000;

// For any period, a program whose rounds are just as long keeps step with it. So each run has
// another period, and what is in step in one run is not in the next. The runs of a series have
// seeds in turn. These give evenly spread periods: parts of the range, by multiples of the golden
// ratio.
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
