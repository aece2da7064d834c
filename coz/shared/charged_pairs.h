// How many requests are under way when a delay is imposed. For pairs whose visits have no virtual
// time: the original's header, marks of two names, and places. Delay is imposed while a request is
// served, and then more requests are under way than on average.
//
// Shape    sums in the control block, which the supervisor reads with each look
// Units    ns of delay, times a number of requests
// Errors   none. A pair is left out while its counters are spread over too many threads or cannot
//          be read. Delays are left out after a costly reading: the average of the others stands
//          for them
// Threads  safe
// Signals  async-signal-safe
// Source   docs/design/points.md, "Latency of pairs without times"
#ifndef COZ_SHARED_CHARGED_PAIRS_H_
#define COZ_SHARED_CHARGED_PAIRS_H_

#include <atomic>
#include <cstdint>

#include "coz/shared/control_block.h"

namespace coz::shared {

// Visits to the point so far, without those that have times.
uint64_t UntimedVisits(const ControlBlock& control, uint32_t point);

// By how much the global delay rises when the thread imposes `delay_ns`. Delays that threads impose
// on each other cancel, and only the rise is left out of the run's time.
uint64_t RiseBy(const delay::GlobalLedger& global, const delay::ThreadLedger& thread,
                uint64_t delay_ns);

// Bounds the CPU time that a process spends on reading counters, to one part in kPart. Reading a
// breakpoint or probe that is armed on another CPU took some 15 us: the kernel has to ask that CPU.
class ChargeBudget {
 public:
  static constexpr uint64_t kPart = 50;
  bool Allows(uint64_t now_ns) const { return now_ns >= next_ns_.load(std::memory_order_relaxed); }
  void Spend(uint64_t now_ns, uint64_t cpu_ns) {
    next_ns_.store(now_ns + kPart * cpu_ns, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> next_ns_{0};
};

// To be called before the global delay rises by `rise_ns`. A rise of 0 is not noted.
void ChargePairs(ControlBlock& control, uint64_t rise_ns, ChargeBudget* budget);

}  // namespace coz::shared

#endif  // COZ_SHARED_CHARGED_PAIRS_H_
