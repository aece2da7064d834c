// Says how many sampling periods of a thread's CPU time have ended since its last sample.
//
// Shape    one per sampled thread, zero-initialised for a thread whose CPU clock starts at zero
// Units    ns of thread CPU time
// Errors   none
// Threads  owner
// Signals  async-signal-safe
// Source   kernel/events/core.c __perf_event_overflow: overflows during one stay in the kernel send
//          a single SIGTRAP, so a system call of 17 periods comes as one sample (README.md)
#ifndef COZ_SAMPLER_PERIOD_TRACKER_H_
#define COZ_SAMPLER_PERIOD_TRACKER_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace coz::sampler {

class PeriodTracker {
 public:
  constexpr PeriodTracker() = default;

  void Restart(uint64_t now_ns) {
    last_ns_ = now_ns;
    balance_ns_ = 0;
  }

  // For a thread whose CPU clock starts at zero.
  void Forget() {
    Restart(0);
    ForgetLeftOut();
  }

  // Call at each sample: periods ended since the last call. The rest is carried on, so that over
  // time the sum is the CPU time divided by the period. It is 0 where the sample comes early: the
  // kernel swaps the events of threads that take turns on a CPU, so a thread may get the other's
  // sample. Were it counted, its sum and the other's would be more than their CPU time.
  uint64_t Advance(uint64_t now_ns, uint64_t period_ns) {
    const int64_t period = static_cast<int64_t>(period_ns);
    const int64_t passed_ns = static_cast<int64_t>(now_ns - last_ns_);
    if (passed_ns < 0) {  // another thread's clock: a process may share its parent's memory
      Restart(now_ns);
      return 0;
    }
    balance_ns_ += passed_ns;
    last_ns_ = now_ns;
    // The timer of the event and the thread's CPU clock disagree a little at each context switch:
    // a sample that comes early by up to an eighth of a period still ends a period.
    const int64_t periods = (balance_ns_ + period / 8) / period;
    balance_ns_ -= periods * period;
    return static_cast<uint64_t>(periods);
  }

  // The same at a sample of a clock that goes on while the thread waits. It finds whoever runs, so
  // that each sample stands for a period, however long ago the thread's last one was. Only where
  // the thread has run ever since (`has_waited` is false) its CPU clock tells that it was in the
  // kernel for several; and where there were so many that chance makes one sample in 400 as late.
  uint64_t AdvanceByCpuClock(uint64_t now_ns, uint64_t period_ns, bool has_waited) {
    constexpr uint64_t kNoChance = 6;
    const bool tells = !has_waited || now_ns - last_ns_ > kNoChance * period_ns;
    const uint64_t periods = tells ? Advance(now_ns, period_ns) : 0;
    if (periods != 0) return periods;
    Restart(now_ns);
    return 1;
  }

  uint64_t last_ns() const { return last_ns_; }

  // `cpu_ns` of the next periods is not the thread's own. A signal handler of the thread may call
  // TakeLeftOut meanwhile.
  void LeaveOut(uint64_t cpu_ns) { left_out_ns_.fetch_add(cpu_ns, std::memory_order_relaxed); }

  void ForgetLeftOut() { left_out_ns_.store(0, std::memory_order_relaxed); }

  // How many of `periods` that have ended are to be left out; the rest is kept for later ones.
  uint64_t TakeLeftOut(uint64_t periods, uint64_t period_ns) {
    const uint64_t taken =
        std::min(periods, left_out_ns_.load(std::memory_order_relaxed) / period_ns);
    left_out_ns_.fetch_sub(taken * period_ns, std::memory_order_relaxed);
    return taken;
  }

  // The CPU time since the end of the last period.
  uint64_t RestNs(uint64_t now_ns) const {
    const int64_t rest = balance_ns_ + static_cast<int64_t>(now_ns - last_ns_);
    const int64_t own = rest - static_cast<int64_t>(left_out_ns_.load(std::memory_order_relaxed));
    return own > 0 ? static_cast<uint64_t>(own) : 0;
  }

 private:
  uint64_t last_ns_ = 0;
  int64_t balance_ns_ = 0;
  std::atomic<uint64_t> left_out_ns_{0};
};

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_PERIOD_TRACKER_H_
