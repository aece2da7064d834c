// How long a thread that another one wakes takes to go on, on a CPU that has just become idle and
// on one that has been idle for long. In a virtual machine the second has halted, and the host must
// give it back first.
//
// Shape    one measurement takes some 0.1 s; two threads of this process, each on a CPU of its own
// Units    ns from the call that wakes
// Errors   nullopt where this process has but one CPU, or the system no room for a thread
// Threads  compatible
// Signals  none
// Source   docs/servers.md
#ifndef COZ_SUPERVISOR_DOCTOR_WAKE_COST_H_
#define COZ_SUPERVISOR_DOCTOR_WAKE_COST_H_

#include <cstdint>
#include <optional>

namespace coz::supervisor {

inline constexpr uint64_t kShortIdleNs = 50'000;
inline constexpr uint64_t kLongIdleNs = 1'000'000;

struct WakeCost {
  uint64_t after_short_ns = 0;
  uint64_t after_long_ns = 0;
};

std::optional<WakeCost> MeasureWakeCost();

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_DOCTOR_WAKE_COST_H_
