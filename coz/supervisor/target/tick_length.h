// How long a tick of the CPU's time-stamp counter is.
//
// Shape    a function: the mean since the session's start
// Units    ns of CLOCK_MONOTONIC per tick
// Errors   0 at the very start
// Threads  safe
// Signals  none
// Source   ControlBlock::start_ticks
#ifndef COZ_SUPERVISOR_TARGET_TICK_LENGTH_H_
#define COZ_SUPERVISOR_TARGET_TICK_LENGTH_H_

#include <cstdint>

#include "coz/base/clock.h"
#include "coz/shared/control_block.h"

namespace coz::supervisor {

inline double NsPerTick(const shared::ControlBlock& control) {
  const uint64_t ticks = __builtin_ia32_rdtsc() - control.start_ticks;
  const uint64_t elapsed_ns = MonotonicNowNs() - control.start_ns;
  return ticks == 0 ? 0 : static_cast<double>(elapsed_ns) / static_cast<double>(ticks);
}

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_TICK_LENGTH_H_
