// Waits where those are units that the outside ends (--unit=wait): how long the thread was blocked,
// and whether a profiled thread has ended the wait.
//
// Without that option all of this is one look at a variable in each call.
//
// Shape    an OutsideClock around the call, then EndOutsideWait; a note of each wake by a profiled
//          thread, under what a descriptor leads to
// Units    ns of CLOCK_MONOTONIC
// Errors   a wake that no wrapped call makes (a raw system call) is not noted, so the wait for it
//          counts as ended by the outside. After more than IoTables::kWakes flows the older of two
//          in one place is forgotten
// Threads  each thread its own waits
// Signals  async-signal-safe; keeps errno
// Source   docs/design/waits-and-credit.md, "Waits as units"
#ifndef COZ_SYNC_INTERPOSE_OUTSIDE_WAIT_H_
#define COZ_SYNC_INTERPOSE_OUTSIDE_WAIT_H_

#include <cstdint>

#include "coz/sync/delay/outside_wait.h"
#include "coz/sync/interpose/io_object.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {

inline bool WaitsAreUnits() {
  return __builtin_expect(sync_internal::g_hooks.outside_wait != nullptr, 0);
}

// When a wait began.
struct OutsideClock {
  uint64_t start_ns;
  uint64_t cpu_ns;
  uint64_t paused_ns;
  uint64_t switches_plus_1;
};

// For the caller, which is about to wait.
OutsideClock StartOutsideClock(const delay::ThreadLedger& caller);

// How long the caller has waited since then. `blocked_ns` is 0 where it has not blocked.
// `queued_ns` says for how long it was queued for a CPU (ResumeRunning).
delay::OutsideWait SinceStart(const delay::ThreadLedger& caller, const OutsideClock& clock,
                              uint64_t queued_ns);

namespace sync_internal {
// Calls the hook for waits of the kind, if there is one: it may be gone since the wait began.
void TellOfWait(delay::ThreadLedger& caller, const delay::OutsideWait& wait);
}  // namespace sync_internal

// Ends a wait of the caller. `kind_of(start_ns)` says what has ended it: kNone where that was no
// one outside. It is asked only where the caller has blocked.
template <typename KindOf>
[[gnu::noinline, gnu::cold]] void EndOutsideWait(delay::ThreadLedger& caller,
                                                 const OutsideClock& clock, uint64_t queued_ns,
                                                 KindOf kind_of) {
  delay::OutsideWait wait = SinceStart(caller, clock, queued_ns);
  if (wait.blocked_ns == 0) return;
  wait.kind = kind_of(wait.start_ns);
  if (wait.kind != delay::WaitKind::kCounted) sync_internal::TellOfWait(caller, wait);
}

// The clock of a wait of the caller that is no unit. Nothing where there is no hook for it.
class OwnWait {
 public:
  // Before the wait; End comes once after each Start.
  void Start(const delay::ThreadLedger& caller) {
    is_timed_ = __builtin_expect(sync_internal::g_hooks.own_wait != nullptr, 0);
    if (is_timed_) StartClock(caller);
  }
  // As EndOutsideWait.
  void End(delay::ThreadLedger& caller, uint64_t queued_ns) const {
    if (__builtin_expect(is_timed_, 0)) EndClock(caller, queued_ns);
  }

 private:
  void StartClock(const delay::ThreadLedger& caller);
  void EndClock(delay::ThreadLedger& caller, uint64_t queued_ns) const;

  bool is_timed_ = false;
  OutsideClock clock_ = {};  // where it is timed
};

// Notes that the caller is about to wake threads that wait at the other side of `fd`, or for `key`.
// Nothing where waits are no units.
void NoteWakesThrough(int fd, IoSide side);
void NoteWakeBy(uint64_t key);

// Whether a profiled thread has ever woken one that waits on `side` of `fd`, or for `key`.
bool IsWokenByTree(int fd, IoSide side);
bool IsWokenByTree(uint64_t key);
// Whether one has since `start_ns`, or a moment before.
bool IsWokenByTreeSince(uint64_t key, uint64_t start_ns);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_OUTSIDE_WAIT_H_
