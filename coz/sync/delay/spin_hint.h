// Tells a loop that waits on its CPU by the hint that it gives the CPU, the instruction `pause`.
//
// Shape    functions of an address in code
// Units    bytes
// Errors   a loop without the hint is not told; nor, but at the hint itself, one whose hint is in a
//          function of its own, that is longer than kLongestSpinLoop, or that lies on two pages
// Threads  safe
// Signals  async-signal-safe
// Source   Intel 64 and IA-32 Architectures Software Developer's Manual, PAUSE, JMP, Jcc
#ifndef COZ_SYNC_DELAY_SPIN_HINT_H_
#define COZ_SYNC_DELAY_SPIN_HINT_H_

#include <cstdint>

namespace coz::delay {

// Loops that wait are short: a load, a comparison, the hint, the jump.
inline constexpr uint64_t kLongestSpinLoop = 64;

namespace spin_hint_internal {

inline bool IsHint(const uint8_t* at) { return at[0] == 0xf3 && at[1] == 0x90; }

// Jumps of two bytes: unconditional, or on a condition.
inline bool IsShortJump(const uint8_t* at) { return at[0] == 0xeb || (at[0] & 0xf0) == 0x70; }

// Whether `at` is in the innermost loop around the hint: up to the first jump behind the hint that
// goes back to it or before it. `end`: of what may be read. Bytes of other instructions may look
// like such a jump, but hardly like one that goes back as far as the hint and no farther than such
// a loop is long.
inline bool IsInLoopAround(const uint8_t* hint, const uint8_t* at, const uint8_t* end) {
  for (const uint8_t* jump = hint + 2; jump + 2 <= end && jump < hint + kLongestSpinLoop; ++jump) {
    if (!IsShortJump(jump)) continue;
    const uint8_t* const target = jump + 2 + static_cast<int8_t>(jump[1]);
    if (target > hint || target + kLongestSpinLoop < jump + 2) continue;
    return target <= at && at <= jump;
  }
  return false;
}

}  // namespace spin_hint_internal

// Whether the instruction at `ip`, or the one before it, is the hint, or is in the innermost loop
// around one. Behind the hint such a loop spends most of its time, not all: the load that it waits
// by takes some, and where another thread writes there now and then, a fifth. The page of `ip` may
// be read; no other is.
inline bool IsInSpinLoop(uint64_t ip) {
  using spin_hint_internal::IsHint;
  constexpr uint64_t kPage = 4096;
  const auto* const at = reinterpret_cast<const uint8_t*>(ip);
  const uint64_t before = ip % kPage;
  const uint8_t* const page = at - before;
  const uint8_t* const end = page + kPage;
  if ((before >= 2 && IsHint(at - 2)) || (at + 2 <= end && IsHint(at))) return true;
  const uint8_t* const first = before > kLongestSpinLoop ? at - kLongestSpinLoop : page;
  for (const uint8_t* hint = first; hint + 2 <= end && hint < at + kLongestSpinLoop; ++hint) {
    if (IsHint(hint) && spin_hint_internal::IsInLoopAround(hint, at, end)) return true;
  }
  return false;
}

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_SPIN_HINT_H_
