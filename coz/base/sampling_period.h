// The sampling period of a run for which the user gives none.
//
// Shape    one number for each seed, twice as much where interrupts are dear
// Units    ns of thread CPU time; of an interrupt, ns that it takes
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

// Where an interrupt takes longer than this, as in some virtual machines, a period of a millisecond
// would take more than 2 % of a busy CPU. Periods are twice as long then.
inline constexpr uint64_t kDearInterruptNs = 25'000;
inline constexpr uint64_t kLongerWhereDear = 2;

// The CPU time that a CPU timer's sample stands for, whatever its period: the kernel's tick.
inline constexpr uint64_t kCpuTimerSampleNs = 4'000'000;

// For any period, a program whose rounds are just as long keeps step with it. So each run has
// another period, and what is in step in one run is not in the next. The runs of a series have
// seeds in turn. These give evenly spread periods: parts of the range, by multiples of the golden
// ratio.
inline uint64_t DefaultSamplingPeriodNs(uint64_t seed, uint64_t interrupt_ns = 0) {
  constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
  constexpr uint64_t kUnitNs = 1000;  // as one may type it
  constexpr uint64_t kChoices = (kMostDefaultPeriodNs - kLeastDefaultPeriodNs) / kUnitNs;
  const uint64_t part = seed * kGoldenRatio;
  const auto choice =
      static_cast<uint64_t>((static_cast<unsigned __int128>(part) * kChoices) >> 64);
  const uint64_t factor = interrupt_ns > kDearInterruptNs ? kLongerWhereDear : 1;
  return factor * (kLeastDefaultPeriodNs + choice * kUnitNs);
}

}  // namespace coz

#endif  // COZ_BASE_SAMPLING_PERIOD_H_
