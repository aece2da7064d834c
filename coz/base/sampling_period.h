// The default time between two samples of a thread.
//
// Shape    one number
// Units    ns of thread CPU time
// Errors   none
// Threads  any
// Signals  async-signal-safe
// Source   docs/results.md, "The sampling period"
#ifndef COZ_BASE_SAMPLING_PERIOD_H_
#define COZ_BASE_SAMPLING_PERIOD_H_

#include <cstdint>

namespace coz {

// No round number, and less than one: programs do things in rounds of a millisecond, or a little more with what they do beside their work, and samples
// that keep step with them fall into the same part of each.
inline constexpr uint64_t kDefaultSamplingPeriodNs = 930 * 1000;

}  // namespace coz

#endif  // COZ_BASE_SAMPLING_PERIOD_H_
