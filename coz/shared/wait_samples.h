// Waits in the ring of samples: the unit with the kind of the wait.
//
// Shape    `kind:4 | unit:28`
// Units    numbers of units and of kinds
// Errors   none: no program has 2^28 lines
// Threads  values
// Signals  async-signal-safe
// Source   coz/shared/sample_ring.h
#ifndef COZ_SHARED_WAIT_SAMPLES_H_
#define COZ_SHARED_WAIT_SAMPLES_H_

#include <cstdint>

#include "coz/sync/delay/outside_wait.h"

namespace coz::shared {

inline constexpr uint32_t kWaitUnitBits = 28;
static_assert(delay::kWaitKinds < 16);

inline constexpr uint32_t UnitWithWaitKind(uint32_t unit, delay::WaitKind kind) {
  return unit | static_cast<uint32_t>(kind) << kWaitUnitBits;
}
inline constexpr uint32_t UnitOfWait(uint32_t sampled) {
  return sampled & ((1u << kWaitUnitBits) - 1);
}
inline constexpr delay::WaitKind KindOfWait(uint32_t sampled) {
  return static_cast<delay::WaitKind>(sampled >> kWaitUnitBits);
}

}  // namespace coz::shared

#endif  // COZ_SHARED_WAIT_SAMPLES_H_
