// Time-outs in virtual time.
//
// Another thread may end a timed wait, and it does so at its own virtual time; so the clock has to
// end it in virtual time as well. A wait that times out while the thread owes delay has timed out
// too early by that much: it goes on for so long, which serves the delay, and may still be ended by
// a thread. The program sees the same as if the thread had paused, but does not miss what came
// meanwhile.
//
// Shape    one loop, for absolute and relative time-outs
// Units    ns of CLOCK_MONOTONIC; deadlines of the clock of the call
// Errors   those of the wait
// Threads  each thread its own waits
// Signals  async-signal-safe as far as the wait
// Source   docs/design/waits-and-credit.md, "Time-outs"
#ifndef COZ_SYNC_INTERPOSE_VIRTUAL_TIMEOUT_H_
#define COZ_SYNC_INTERPOSE_VIRTUAL_TIMEOUT_H_

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "coz/base/clock.h"
#include "coz/sync/interpose/deadline.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {

// `result` is that of a wait of the calling thread, `go_on(owed_ns)` waits for so much longer, and
// `timed_out(result)` tells a time-out. Returns the result of the wait that was the last. Does
// nothing in a thread that is not profiled.
template <typename Result, typename GoOn, typename TimedOut>
inline Result GoOnInVirtualTime(Result result, GoOn go_on, TimedOut timed_out) {
  constexpr int kMostExtensions = 16;  // delay may be inserted during each
  delay::ThreadLedger* const caller = CurrentThreadLedger();
  if (caller == nullptr) return result;
  for (int i = 0; i < kMostExtensions && timed_out(result); ++i) {
    const uint64_t owed_ns = delay::OwedDelay(*sync_internal::g_ledger, *caller);
    if (owed_ns == 0) break;
    // What a handler pays meanwhile it records itself.
    const uint64_t paid_ns = caller->paused_ns.load(std::memory_order_relaxed);
    const uint64_t start_ns = MonotonicNowNs();
    result = go_on(owed_ns);
    if (!timed_out(result)) break;
    const uint64_t passed_ns = MonotonicNowNs() - start_ns;
    const uint64_t nested_ns = caller->paused_ns.load(std::memory_order_relaxed) - paid_ns;
    const uint64_t slept_ns = passed_ns > nested_ns ? passed_ns - nested_ns : 0;
    delay::RecordPause(*caller, std::min(owed_ns, slept_ns), slept_ns);
  }
  // Where the thread got its CPU so late that all of these deadlines had passed.
  if (timed_out(result)) PayAfterWait();
  return result;
}

// `wait_until(deadline)` in virtual time. A null deadline never comes.
template <typename WaitUntil, typename TimedOut>
inline auto WaitInVirtualTime(const timespec* deadline, WaitUntil wait_until, TimedOut timed_out) {
  const auto result = wait_until(deadline);
  if (deadline == nullptr || !timed_out(result)) return result;
  timespec later = *deadline;
  return GoOnInVirtualTime(
      result,
      [&later, wait_until](uint64_t owed_ns) {
        later = DeadlineAfter(later, owed_ns);
        return wait_until(&later);
      },
      timed_out);
}

// The same for calls that return ETIMEDOUT.
template <typename WaitUntil>
inline int WaitInVirtualTime(const timespec* deadline, WaitUntil wait_until) {
  return WaitInVirtualTime(deadline, wait_until, [](int result) { return result == ETIMEDOUT; });
}

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_VIRTUAL_TIMEOUT_H_
