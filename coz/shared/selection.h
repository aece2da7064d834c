// What an experiment speeds up, and by how much, in one word: a handler reads both together.
//
// Shape    `(unit + 1) << 32 | delay per sample`; 0: nothing is selected
// Units    unit numbers; ns
// Errors   none
// Threads  values
// Signals  async-signal-safe
// Source   docs/design.md, "Shared memory"
#ifndef COZ_SHARED_SELECTION_H_
#define COZ_SHARED_SELECTION_H_

#include <cstdint>

namespace coz::shared {

inline constexpr uint32_t kNoUnit = 0xffffffff;
// In a control: all code, of no unit, too (GlobalLedger::delays_everybody). No unit has this
// number.
inline constexpr uint32_t kAllCode = 0xfffffffe;

struct Selection {
  uint32_t unit = kNoUnit;
  uint32_t delay_per_sample_ns = 0;

  static constexpr Selection Unpack(uint64_t word) {
    return {static_cast<uint32_t>((word >> 32) - 1), static_cast<uint32_t>(word)};
  }
  constexpr uint64_t Packed() const {
    return unit == kNoUnit ? 0 : (uint64_t{unit} + 1) << 32 | delay_per_sample_ns;
  }
  // Whether a sample in `sampled` is one of the selected unit. kNoUnit never is.
  constexpr bool Selects(uint32_t sampled) const { return sampled != kNoUnit && sampled == unit; }
};
static_assert(Selection::Unpack(0).unit == kNoUnit);
static_assert(Selection::Unpack(Selection{0, 7}.Packed()).unit == 0);
static_assert(Selection::Unpack(Selection{0, 7}.Packed()).delay_per_sample_ns == 7);

}  // namespace coz::shared

#endif  // COZ_SHARED_SELECTION_H_
