// How long a thread that another one wakes takes to go on, and how long the other one takes to wake
// it, on a CPU that has just become idle and on one that has been idle for long. In a virtual
// machine the second has halted, and the host must give it back first.
//
// Shape    one measurement takes some 8 ms; two threads of this process, each on a CPU of its own
// Units    ns; of who is woken, from the start of the call that wakes
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
inline constexpr uint64_t kLongIdleNs = 500'000;

struct Wake {
  uint64_t woken_ns = 0;
  uint64_t waker_ns = 0;
};

// Medians of some wakes.
struct WakeCost {
  Wake after_short;
  Wake after_long;
};

std::optional<WakeCost> MeasureWakeCost();

// Measured once: a machine keeps its own.
std::optional<WakeCost> MachineWakeCost();
// What the wake of a CPU that has halted takes more, of both threads together; 0 too where it is
// not known.
uint64_t HaltedWakeNs();

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_WAKE_COST_H_
