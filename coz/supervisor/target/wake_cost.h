// How long a thread that another one wakes takes to go on, on a CPU that has just become idle and
// on one that has been idle for long. In a virtual machine the second has halted, and the host must
// give it back first.
//
// Shape    one measurement takes some 15 ms; two threads of this process, each on a CPU of its own
// Units    ns from the call that wakes
// Errors   nullopt where this process has but one CPU, or the system no room for a thread
// Threads  compatible; MachineWakeCost: safe
// Signals  none
// Source   docs/design/statistics.md, "What is systematic"
#ifndef COZ_SUPERVISOR_TARGET_WAKE_COST_H_
#define COZ_SUPERVISOR_TARGET_WAKE_COST_H_

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

// Measured once: a machine keeps its own.
std::optional<WakeCost> MachineWakeCost();
// By how much the wake of a CPU that has halted is longer; 0 too where it is not known.
uint64_t HaltedWakeNs();

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_WAKE_COST_H_
