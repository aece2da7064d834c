// How many requests are under way when a delay is imposed, of pairs whose visits have no virtual time: the original's header, marks of two
// names, and places. Delay is imposed while a request is served, that is when more are under way than on average.
//
// Shape    sums in the control block, which the supervisor reads with each look
// Units    ns of delay, times a number
// Errors   none; a pair is left out as long as its counters are spread over many threads, or cannot be read; delays are left out where
//          reading has just cost much: what is under way on average is known from the others
// Threads  safe
// Signals  async-signal-safe
// Source   docs/progress-points.md, "Latency"
#ifndef COZ_SHARED_CHARGED_PAIRS_H_
#define COZ_SHARED_CHARGED_PAIRS_H_

#include <atomic>
#include <cstdint>

#include "coz/shared/control_block.h"

namespace coz::shared {

// Visits to the point so far, but for those with times; by its counter and those of the threads.
uint64_t UntimedVisits(const ControlBlock& control, uint32_t point);

// How much of the thread's delay raises the global one, which is the time that is left out: delays that threads impose on each other cancel.
uint64_t RiseBy(const delay::GlobalLedger& global, const delay::ThreadLedger& thread,
                uint64_t delay_ns);

// Of a process's CPU time that reading counters may take. To read a breakpoint or probe that is armed on another CPU takes some 15 us here,
// for the kernel has to ask that CPU.
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

// Before the global delay rises by `rise_ns`. Where that is nothing, nothing is noted.
void ChargePairs(ControlBlock& control, uint64_t rise_ns, ChargeBudget* budget);

}  // namespace coz::shared

#endif  // COZ_SHARED_CHARGED_PAIRS_H_
