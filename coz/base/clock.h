// The one clock of the product: CLOCK_MONOTONIC in nanoseconds. Wall-clock time is only ever
// printed.
//
// Shape    unsigned 64-bit count
// Units    ns since an unspecified start (boot)
// Errors   none: CLOCK_MONOTONIC cannot fail on Linux
// Threads  safe
// Signals  async-signal-safe (the vDSO's clock_gettime takes no lock)
// Source   clock_gettime(2)
#ifndef COZ_BASE_CLOCK_H_
#define COZ_BASE_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace coz {

inline constexpr uint64_t kNsPerUs = 1000;
inline constexpr uint64_t kNsPerMs = 1'000'000;
inline constexpr uint64_t kNsPerSecond = 1'000'000'000;

inline uint64_t MonotonicNowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace coz

#endif  // COZ_BASE_CLOCK_H_
