// In which units threads wait by spinning: samples in loops that wait for something on their CPU.
//
// Shape    a hash table of few entries, which only grows
// Units    sampling periods
// Errors   units that find no place are left out
// Threads  safe, across processes
// Signals  async-signal-safe
// Source   docs/design/waits-and-credit.md
#ifndef COZ_SHARED_SPINNING_UNITS_H_
#define COZ_SHARED_SPINNING_UNITS_H_

#include <atomic>
#include <cstdint>

#include "coz/shared/selection.h"

namespace coz::shared {

inline constexpr uint32_t kMaxSpinningUnits = 64;

struct SpinningUnits {
  struct Entry {
    std::atomic<uint64_t> key;  // unit + 1; 0: free
    std::atomic<uint64_t> samples;
  };
  Entry entries[kMaxSpinningUnits];
};

// Nothing where the unit is kNoUnit.
inline void AddSpinning(SpinningUnits& units, uint32_t unit, uint64_t samples) {
  if (unit == kNoUnit) return;
  const uint64_t wanted = uint64_t{unit} + 1;
  for (uint32_t i = 0; i < kMaxSpinningUnits; ++i) {
    SpinningUnits::Entry& entry = units.entries[(unit + i) % kMaxSpinningUnits];
    uint64_t key = entry.key.load(std::memory_order_relaxed);
    if (key == 0 && entry.key.compare_exchange_strong(key, wanted, std::memory_order_relaxed)) {
      key = wanted;
    }
    if (key != wanted) continue;
    entry.samples.fetch_add(samples, std::memory_order_relaxed);
    return;
  }
}

// Calls visit(unit, samples) for each.
template <typename Visit>
void ForEachSpinningUnit(const SpinningUnits& units, Visit visit) {
  for (const SpinningUnits::Entry& entry : units.entries) {
    const uint64_t key = entry.key.load(std::memory_order_relaxed);
    if (key != 0) {
      visit(static_cast<uint32_t>(key - 1), entry.samples.load(std::memory_order_relaxed));
    }
  }
}

}  // namespace coz::shared

#endif  // COZ_SHARED_SPINNING_UNITS_H_
