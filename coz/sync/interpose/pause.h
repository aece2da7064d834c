// Sleeps or spins to pay delay.
//
// Shape    three functions and a scope
// Units    ns of CLOCK_MONOTONIC
// Errors   none: where the kernel refuses the sleep, the time that it took counts
// Threads  safe
// Signals  async-signal-safe; keeps errno; no cancellation point (system calls are made directly)
// Source   clock_nanosleep(2), prctl(2) PR_SET_TIMERSLACK
#ifndef COZ_SYNC_INTERPOSE_PAUSE_H_
#define COZ_SYNC_INTERPOSE_PAUSE_H_

#include <atomic>
#include <cstdint>

namespace coz::interpose {

namespace sync_internal {
// See LeaveThreadSyncForGood: no system call may be made any more, so that the slack is neither
// changed nor put back.
extern std::atomic<bool> g_left_for_good __attribute__((visibility("hidden")));
}  // namespace sync_internal

// Sleeps for at least `duration_ns` and returns how long it really took.
uint64_t PauseFor(uint64_t duration_ns);

// The same, but both times count from `start_ns`.
uint64_t PauseSince(uint64_t start_ns, uint64_t duration_ns);

// The same, but spins, so that no other thread gets the CPU. Returns for how long the thread has
// held the CPU since `start_ns`. Time in which another thread had the CPU does not count, so the
// pause ends that much later.
uint64_t HoldCpuSince(uint64_t start_ns, uint64_t duration_ns);

// While an object of this class lives, the calling thread's sleeps and time-outs end as soon as the
// timer does. With the default slack each would last up to 50 us longer. The slack is put back
// afterwards, because the program's own sleeps need it.
class WithoutTimerSlack {
 public:
  WithoutTimerSlack();
  ~WithoutTimerSlack();
  WithoutTimerSlack(const WithoutTimerSlack&) = delete;
  WithoutTimerSlack& operator=(const WithoutTimerSlack&) = delete;

 private:
  const long slack_ns_;
};

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_PAUSE_H_
