// The delay of samples that stand for several short threads (coz/sampler/short_threads.h). All of
// these threads impose it, not only the sampled one.
//
// A thread can be shortened by no more than its own length. Delay that it imposes beyond that is
// lost in the other threads' waits for it. Uneven delay is lost too: one sampled thread has one
// sample, another has two. If they imposed that unevenly, whoever waits for the longer of two
// things would wait for the slow threads. Hence the delay of about kGroups samples is mixed.
//
// Shape    one per process, zero-initialised
// Units    ns of delay
// Errors   none; delay that nobody has taken when the selection changes is dropped
// Threads  safe; where two threads add or take at once, some delay may be lost
// Signals  async-signal-safe
// Source   docs/design/sampling.md
#ifndef COZ_SYNC_DELAY_SHARED_DELAY_H_
#define COZ_SYNC_DELAY_SHARED_DELAY_H_

#include <atomic>
#include <cstdint>

namespace coz::delay {

class SharedDelay {
 public:
  // Adds delay for threads that begin while `selection` lasts.
  void Add(uint64_t selection, uint64_t delay_ns) {
    if (selection_.exchange(selection, std::memory_order_relaxed) != selection) {
      delay_ns_.store(0, std::memory_order_relaxed);
    }
    delay_ns_.fetch_add(delay_ns, std::memory_order_relaxed);
  }

  // Takes the delay that one thread imposes, where each sample stands for `threads` of them. In the
  // long run they take all that is added.
  uint64_t Take(uint64_t selection, uint64_t threads) {
    if (threads == 0 || selection_.load(std::memory_order_relaxed) != selection) return 0;
    uint64_t delay_ns = delay_ns_.load(std::memory_order_relaxed);
    const uint64_t parts = kGroups * threads;
    const uint64_t taken_ns = (delay_ns + parts - 1) / parts;
    const bool taken =
        delay_ns_.compare_exchange_strong(delay_ns, delay_ns - taken_ns, std::memory_order_relaxed);
    return taken ? taken_ns : 0;
  }

 private:
  static constexpr uint64_t kGroups = 4;

  std::atomic<uint64_t> selection_{0};
  std::atomic<uint64_t> delay_ns_{0};
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_SHARED_DELAY_H_
