// For how long a thread was queued for a CPU, and the CPU that it has.
//
// Shape    one per thread, in its ledger; all zero at first
// Units    ns of CLOCK_MONOTONIC
// Errors   none
// Threads  the owner only
// Signals  async-signal-safe. If a handler of the same thread looks in the middle of another look,
//          the thread may be told of the same time twice, once
// Source   docs/design/delays.md, "More threads than CPUs"
#ifndef COZ_SYNC_DELAY_CPU_SHARE_H_
#define COZ_SYNC_DELAY_CPU_SHARE_H_

#include <algorithm>
#include <cstdint>

namespace coz::delay {

// What the thread reads for a look.
struct CpuLook {
  uint64_t now_ns;
  uint64_t queued_ns;  // since the thread began
};

class CpuShare {
 public:
  // The CPU that the thread has noted itself on (cpu_table.h).
  uint32_t cpu() const { return cpu_; }
  void SetCpu(uint32_t cpu, bool can_run) {
    cpu_ = cpu;
    can_run_ = can_run;
  }
  bool can_run() const { return can_run_; }  // it has not left that CPU to wait or to pause

  // Where that CPU stood when the thread got it at the end of its last wait; kNoStand where it has
  // gone on from there already.
  static constexpr uint64_t kNoStand = ~uint64_t{0};
  uint64_t stands_ns() const { return stands_plus_1_ - 1; }
  void SetStand(uint64_t stands_ns) { stands_plus_1_ = stands_ns + 1; }

  // What the thread owed when it left its CPU for the wait that it is about to begin.
  void SetLeft(uint64_t left_ns) { left_ns_ = left_ns; }
  uint64_t TakeLeft() {
    const uint64_t left_ns = left_ns_;
    left_ns_ = 0;
    return left_ns;
  }

  // For a new thread.
  void Reset() {
    now_ns_ = 0;
    stands_plus_1_ = 0;
    left_ns_ = 0;
    can_run_ = false;
  }

  // Whether the last look is so short ago that another one need not be. A look costs a system call,
  // and a server thread may wait and wake others several times in this time. Before a pause less
  // may be left to a later look.
  static constexpr uint64_t kLeastBetweenLooksNs = 100'000;
  static constexpr uint64_t kLeastBeforePauseNs = 20'000;
  bool HasJustLooked(uint64_t now_ns, uint64_t least_ns) const {
    return now_ns_ != 0 && now_ns - now_ns_ - looked_after_ns_ < least_ns;
  }

  // Less is left for a later look of the same second, since two clocks are read one after the
  // other. A server's threads are queued for a moment at each request, which adds up.
  static constexpr uint64_t kLeastQueuedNs = 20'000;
  static constexpr uint64_t kMostLeftNs = 1'000'000'000;

  // The time in the queue since the last look that told any. The next one counts from here.
  uint64_t Take(const CpuLook& look) {
    const uint64_t passed_ns = look.now_ns - now_ns_;
    if (now_ns_ != 0 && look.queued_ns - queued_ns_ < kLeastQueuedNs && passed_ns < kMostLeftNs) {
      looked_after_ns_ = static_cast<uint32_t>(passed_ns);
      return 0;
    }
    const uint64_t queued_ns = now_ns_ == 0 ? 0 : std::min(look.queued_ns - queued_ns_, passed_ns);
    now_ns_ = look.now_ns;
    looked_after_ns_ = 0;
    queued_ns_ = look.queued_ns;
    return queued_ns;
  }

 private:
  uint64_t now_ns_;  // of the last look from which time in the queue counts; 0: there was none
  uint64_t queued_ns_;
  uint64_t stands_plus_1_;
  uint64_t left_ns_;
  uint32_t cpu_;
  bool can_run_;
  uint32_t looked_after_ns_;  // the last look was so long after that
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_CPU_SHARE_H_
