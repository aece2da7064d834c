// A gate of rounds.h that waits by spinning.
//
// Shape    Post() opens it; Wait() passes through it and closes it
// Units    none
// Errors   none
// Threads  one posts, one waits
#ifndef COZ_BENCH_ACCURACY_PROGRAMS_SPIN_GATE_H_
#define COZ_BENCH_ACCURACY_PROGRAMS_SPIN_GATE_H_

#include <atomic>

namespace rounds {

enum class Hint { kPause, kNone };

template <Hint kHint>
class SpinGate {
 public:
  void Post() { open_.store(true, std::memory_order_release); }
  void Wait() {
    while (!open_.load(std::memory_order_acquire)) {
      if (kHint == Hint::kPause) __builtin_ia32_pause();
    }
    open_.store(false, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> open_{false};
};

}  // namespace rounds

#endif  // COZ_BENCH_ACCURACY_PROGRAMS_SPIN_GATE_H_
