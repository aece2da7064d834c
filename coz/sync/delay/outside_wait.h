// Waits that the outside ends, and what a virtual speedup of them imposes.
//
// The length of such a wait is known when it ends. Were it shorter by a share of its length, its
// thread would be ahead of all others by so much. So the thread imposes that share at the end of
// the wait.
//
// Shape    values; WaitDelay is one per thread, zero at first
// Units    ns of CLOCK_MONOTONIC; periods are sampling periods
// Errors   none
// Threads  each thread its own waits
// Signals  async-signal-safe
// Source   docs/design/waits-and-credit.md, "Waits as units"
#ifndef COZ_SYNC_DELAY_OUTSIDE_WAIT_H_
#define COZ_SYNC_DELAY_OUTSIDE_WAIT_H_

#include <algorithm>
#include <cstdint>

namespace coz::delay {

// What a wait of the outside waits for. kNone: the outside has not ended it. kCounted: its parts
// count already.
enum class WaitKind : uint32_t {
  kSleep,
  kDiskRead,
  kDiskWrite,
  kDiskSync,
  kNetwork,
  kPipe,
  kDevice,
  kChild,
  kPoll,
  kMessages,
  kSemaphore,
  kFileLock,
  kOther,
  kNone,
  kCounted
};
inline constexpr uint32_t kWaitKinds = static_cast<uint32_t>(WaitKind::kNone);

// By number.
inline constexpr const char* kWaitKindNames[kWaitKinds] = {
    "sleep",         "disk read", "disk write",    "disk sync", "network",   "pipe",      "device",
    "child process", "poll",      "message queue", "semaphore", "file lock", "other wait"};

struct OutsideWait {
  WaitKind kind;
  uint64_t start_ns;
  uint64_t end_ns;
  // How long the thread was blocked in between: without its own CPU time, its pauses, and the time
  // in the queue for a CPU.
  uint64_t blocked_ns;
};

// The part of the wait that lies behind `since_ns`: an experiment that began amid the wait does not
// speed up what was before.
inline uint64_t BlockedSince(const OutsideWait& wait, uint64_t since_ns) {
  if (since_ns <= wait.start_ns) return wait.blocked_ns;
  return since_ns >= wait.end_ns ? 0 : std::min(wait.blocked_ns, wait.end_ns - since_ns);
}

// The share of `blocked_ns` for which a virtual speedup makes the others pause. The speedup is
// given by the delay per sampling period, as for samples.
inline uint64_t DelayOfWait(uint64_t blocked_ns, uint64_t delay_per_period_ns, uint64_t period_ns) {
  if (period_ns == 0) return 0;
  return static_cast<uint64_t>(static_cast<unsigned __int128>(blocked_ns) * delay_per_period_ns /
                               period_ns);
}

// For how many samples the wait counts. `draw` is uniform in [0, period_ns): so waits of any length
// count for their length on average, and keep step with nothing.
inline uint64_t SamplesOfWait(uint64_t blocked_ns, uint64_t period_ns, uint64_t draw) {
  return period_ns == 0 ? 0 : (blocked_ns + draw) / period_ns;
}

// Keeps the delay of short waits until it is worth a pause of the others. All of it belongs to one
// selection.
class WaitDelay {
 public:
  // Adds the delay of a wait; returns how much the thread has to impose.
  uint64_t Add(uint64_t selection, uint64_t delay_ns, uint64_t least_ns) {
    if (selection_ != selection) kept_ns_ = 0;
    selection_ = selection;
    kept_ns_ += delay_ns;
    if (kept_ns_ < least_ns) return 0;
    const uint64_t taken_ns = kept_ns_;
    kept_ns_ = 0;
    return taken_ns;
  }

 private:
  uint64_t selection_;
  uint64_t kept_ns_;
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_OUTSIDE_WAIT_H_
