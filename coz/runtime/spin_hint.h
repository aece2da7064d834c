// Tells a loop that waits on its CPU by the hint that it gives the CPU, the instruction `pause`, in which it spends nearly all of its time.
//
// Shape    one function
// Units    none
// Errors   a loop without the hint is not told
// Threads  safe
// Signals  async-signal-safe
// Source   Intel 64 and IA-32 Architectures Software Developer's Manual, PAUSE
#ifndef COZ_RUNTIME_SPIN_HINT_H_
#define COZ_RUNTIME_SPIN_HINT_H_

#include <cstdint>

namespace coz {

// Whether the instruction at `ip`, or the one before it, is the hint. The page of `ip` may be read; no other is.
inline bool IsAtSpinHint(uint64_t ip) {
  constexpr uint64_t kPageMask = 4095;
  const auto* const code = reinterpret_cast<const uint8_t*>(ip);
  const auto is_hint = [](const uint8_t* at) { return at[0] == 0xf3 && at[1] == 0x90; };
  const uint64_t offset = ip & kPageMask;
  return (offset >= 2 && is_hint(code - 2)) || (offset != kPageMask && is_hint(code));
}

}  // namespace coz

#endif  // COZ_RUNTIME_SPIN_HINT_H_
