// How a thread's running time divides into stretches, and how much of each kind of stretch is in the selected unit.
//
// A stretch is the running time from one wrapped call to the next: between them a thread meets no other, so when in a stretch its
// delay is imposed makes no difference, but how much is imposed in which stretch does. Stretches that begin behind the same call in
// the program are of one kind. Samples say what share of a kind is in the selected unit; its delay can then be imposed for each
// stretch by its length, instead of all at once in the one that a sample happened to fall in.
//
// Shape    Stretches: one per thread
// Units    ns of CLOCK_MONOTONIC; counts of samples, which fade
// Errors   none
// Threads  the owner's only
// Signals  a handler of the same thread may call anything here at any moment: `busy` makes it leave alone what it has interrupted
// Source   none
#ifndef COZ_SYNC_DELAY_STRETCHES_H_
#define COZ_SYNC_DELAY_STRETCHES_H_

#include <atomic>
#include <cstdint>

namespace coz::delay {

// What a sample was in.
enum class SampledUnit : uint8_t { kOther, kSelected, kGiven };

struct StretchKind {
  const void* site;  // where the program goes on behind the call
  uint32_t samples;
  uint32_t selected;
  uint32_t given;
  uint32_t mean_ns;  // running time; 0 until one has been measured
  // A sample that is imposed at once stands for the time around it, so when its kind is spread from then on, half of it is imposed already.
  uint64_t prepaid_ns;

  uint32_t others() const { return samples - selected - given; }
};

struct Stretches {
  static constexpr int kKinds = 8;
  static constexpr uint32_t kWholeRate = 1 << 16;

  std::atomic<const void*> site;  // of the stretch in progress
  // The ledger's selection for which delay is imposed by stretches, until the deadline or another one; 0: none.
  std::atomic<uint64_t> selection;
  std::atomic<uint32_t> busy;
  uint32_t unit;  // the selected one, for which kinds were counted
  uint64_t deadline_ns;
  uint64_t period_ns;
  uint64_t selected_delay_ns;  // for each period
  uint64_t given_delay_ns;
  // Of the stretch in progress. 0: the thread waits or pauses.
  std::atomic<uint64_t> running_since_ns;
  uint64_t ran_ns;      // before that, and not accounted for
  uint64_t length_ns;   // accounted for
  uint64_t pending_ns;  // delay that is due, too little to impose
  // Delay of samples in kinds that are spread, less what was imposed for their stretches.
  int64_t balance_ns;
  uint32_t calls;
  uint32_t calls_at_sample;
  uint32_t skipped_calls;  // a mask: of so many and one calls one ends a stretch
  std::atomic<uint32_t>
      rate;  // delay that falls due while the stretch in progress runs, in kWholeRate of its time
  StretchKind kinds[kKinds];

  // For a new thread.
  void Reset();

  // The kind of stretches behind `site`, or null.
  StretchKind* Find(const void* wanted);

  // Whether samples of that kind are spread over its stretches: nearly all of it is in one unit, or what is not is short.
  bool IsSpread(const StretchKind& kind) const;

  // A sample of the stretch in progress, while there is a selection. `selected_unit` is the one that kinds are counted for. Not counted where it has
  // interrupted what looks at them.
  void Count(SampledUnit sampled, uint32_t selected_unit);

  // The thread runs no more: it is about to wait or to pause.
  void Stop(uint64_t now_ns) {
    const uint64_t since_ns = running_since_ns.exchange(0, std::memory_order_relaxed);
    if (since_ns != 0 && now_ns > since_ns) ran_ns += now_ns - since_ns;
  }
  void Resume(uint64_t now_ns) { running_since_ns.store(now_ns, std::memory_order_relaxed); }

  // Running time since it was last taken. A thread that does not run stays stopped.
  uint64_t TakeRunningTime(uint64_t now_ns) {
    const bool runs = running_since_ns.load(std::memory_order_relaxed) != 0;
    Stop(now_ns);
    if (runs) Resume(now_ns);
    const uint64_t taken_ns = ran_ns;
    ran_ns = 0;
    return taken_ns;
  }
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_STRETCHES_H_
