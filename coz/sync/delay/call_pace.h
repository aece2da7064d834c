// Which of a thread's calls are looked at, so that few of many in quick succession are.
//
// Shape    one per thread and purpose; all zero at first, when every call is looked at
// Units    calls
// Errors   none
// Threads  the owner's only
// Signals  async-signal-safe; a handler of the same thread may skip or add one call
// Source   docs/design/delays.md
#ifndef COZ_SYNC_DELAY_CALL_PACE_H_
#define COZ_SYNC_DELAY_CALL_PACE_H_

#include <algorithm>
#include <cstdint>

namespace coz::delay {

class CallPace {
 public:
  // So many calls in a sampling period are looked at, at most. A look reads the clock.
  static constexpr uint32_t kFewLooks = 64;
  static constexpr uint32_t kManyLooks = 256;

  // At each call: whether it is looked at.
  bool IsDue() { return (++calls_ & Mask()) == 0; }

  // Whether this call is none that is looked at, and counts it then. Otherwise IsDue() is next.
  bool Skips() {
    if (((calls_ + 1) & Mask()) == 0) return false;
    ++calls_;
    return true;
  }

  // At each sample of the thread, which stands for so many periods, of a CPU timer for several.
  void NoteSample(uint64_t periods, uint32_t looks_in_period = kFewLooks) {
    const uint64_t most_looks = looks_in_period * std::max<uint64_t>(periods, 1);
    skips_ = 0;
    while (uint64_t{calls_} >> skips_ > most_looks) ++skips_;
    calls_ = 0;
  }

 private:
  uint32_t Mask() const { return (uint32_t{1} << skips_) - 1; }

  uint32_t calls_ : 27;  // since the last sample
  uint32_t skips_ : 5;   // one of 2^skips_ calls is looked at
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_CALL_PACE_H_
