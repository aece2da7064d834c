// Recognises a loop that spins while it waits, by the instruction `pause` that hints this to the
// CPU.
//
// Shape    functions of an address in code
// Units    bytes
// Errors   a loop without the hint is not recognised. Three loops are recognised only at the hint
//          itself: one whose hint is in a function of its own, one that is longer than
//          kLongestSpinLoop, and one that lies on two pages
// Threads  safe
// Signals  async-signal-safe
// Source   Intel 64 and IA-32 Architectures Software Developer's Manual, PAUSE, JMP, Jcc
#ifndef COZ_SYNC_DELAY_SPIN_HINT_H_
#define COZ_SYNC_DELAY_SPIN_HINT_H_

#include <cstdint>

namespace coz::delay {

// Loops that spin are short: a load, a comparison, the hint, the jump.
inline constexpr uint64_t kLongestSpinLoop = 64;

namespace spin_hint_internal {

inline bool IsHint(const uint8_t* at) { return at[0] == 0xf3 && at[1] == 0x90; }

// Jumps of two bytes: unconditional, or on a condition.
inline bool IsShortJump(const uint8_t* at) { return at[0] == 0xeb || (at[0] & 0xf0) == 0x70; }

// Whether `at` is in the innermost loop around the hint. That loop ends at the first jump behind
// the hint that goes back to the hint or before it. `end` is the end of what may be read. Bytes of
// other instructions may look like a jump. They hardly ever look like one that goes back as far as
// the hint and no farther than kLongestSpinLoop.
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

// Whether the instruction at `ip` or the one before it is the hint, or `ip` is in the innermost
// loop around a hint. To look only behind the hint is not enough. A loop spends most of its time
// there, but its load takes some too: a fifth of the time where another thread writes there now and
// then. The page of `ip` must be readable. No other page is read.
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
