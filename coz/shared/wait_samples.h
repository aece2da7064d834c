// Waits in the ring of samples: the unit with the kind of the wait.
//
// Shape    `kind:4 | is of a thread group:1 | unit:27`. A unit of a thread group is one of
//          call_paths.h, without kFirstPathUnit. The kind kNone: the outside has not ended the
//          wait, which counts for no unit; the unit tells its call
// Units    numbers of units and of kinds
// Errors   none: no program has 2^27 lines
// Threads  values
// Signals  async-signal-safe
// Source   coz/shared/sample_ring.h
#ifndef COZ_SHARED_WAIT_SAMPLES_H_
#define COZ_SHARED_WAIT_SAMPLES_H_

#include <cstdint>

#include "coz/shared/call_paths.h"
#include "coz/sync/delay/outside_wait.h"

namespace coz::shared {

inline constexpr uint32_t kWaitUnitBits = 28;
static_assert(delay::kWaitKinds < 16);
inline constexpr uint32_t kIsOfThreadGroup = 1u << 27;
static_assert(kMaxCallPaths < kIsOfThreadGroup);

inline constexpr uint32_t UnitWithWaitKind(uint32_t unit, delay::WaitKind kind) {
  const uint32_t packed =
      unit >= kFirstPathUnit ? kIsOfThreadGroup | (unit - kFirstPathUnit) : unit;
  return packed | static_cast<uint32_t>(kind) << kWaitUnitBits;
}
inline constexpr uint32_t UnitOfWait(uint32_t sampled) {
  const uint32_t unit = sampled & (kIsOfThreadGroup - 1);
  return (sampled & kIsOfThreadGroup) != 0 ? kFirstPathUnit + unit : unit;
}
inline constexpr delay::WaitKind KindOfWait(uint32_t sampled) {
  return static_cast<delay::WaitKind>(sampled >> kWaitUnitBits);
}

static_assert(UnitOfWait(UnitWithWaitKind(7, delay::WaitKind::kSleep)) == 7);
static_assert(UnitOfWait(UnitWithWaitKind(kFirstPathUnit + 7, delay::WaitKind::kSleep)) ==
              kFirstPathUnit + 7);
static_assert(KindOfWait(UnitWithWaitKind(kFirstPathUnit + 7, delay::WaitKind::kSleep)) ==
              delay::WaitKind::kSleep);

}  // namespace coz::shared

#endif  // COZ_SHARED_WAIT_SAMPLES_H_
