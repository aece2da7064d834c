// Time-outs in virtual time.
//
// Another thread ends a timed wait at its own virtual time. So the clock has to end it in virtual
// time as well. If a wait times out while the thread owes delay, it has timed out too early by that
// delay. So the wait goes on for that long. This pays the delay, and a thread may still end the
// wait. To the program it looks as if the thread had paused, but it does not miss a wake that comes
// meanwhile.
//
// Shape    one loop, for absolute and relative time-outs
// Units    ns of CLOCK_MONOTONIC; deadlines are of the call's clock
// Errors   those of the wait
// Threads  each thread its own waits
// Signals  as async-signal-safe as the wait
// Source   docs/design/waits-and-credit.md, "Time-outs"
#ifndef COZ_SYNC_INTERPOSE_VIRTUAL_TIMEOUT_H_
#define COZ_SYNC_INTERPOSE_VIRTUAL_TIMEOUT_H_

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "coz/base/clock.h"
#include "coz/sync/interpose/deadline.h"
#include "coz/sync/interpose/pause.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {

// `result` is the result of a wait of the calling thread. `go_on(owed_ns)` waits for `owed_ns`
// more. `timed_out(result)` says whether a wait has timed out. Returns the result of the last wait.
// Does nothing in a thread that is not profiled.
template <typename Result, typename GoOn, typename TimedOut>
inline Result GoOnInVirtualTime(Result result, GoOn go_on, TimedOut timed_out) {
  constexpr int kMostExtensions = 16;  // delay may be inserted during each
  delay::ThreadLedger* const caller = CurrentThreadLedger();
  if (caller == nullptr) return result;
  for (int i = 0; i < kMostExtensions && timed_out(result) && !HasLeftThreadSync(); ++i) {
    const uint64_t owed_ns = delay::OwedDelay(*sync_internal::g_ledger, *caller);
    if (owed_ns == 0) break;
    // A handler that pays meanwhile records its own pause. `nested_ns` below leaves that out.
    const uint64_t paid_ns = caller->paused_ns.load(std::memory_order_relaxed);
    const uint64_t start_ns = MonotonicNowNs();
    {
      const WithoutTimerSlack without_slack;
      result = go_on(owed_ns);
    }
    if (!timed_out(result)) break;
    const uint64_t passed_ns = MonotonicNowNs() - start_ns;
    const uint64_t nested_ns = caller->paused_ns.load(std::memory_order_relaxed) - paid_ns;
    const uint64_t slept_ns = passed_ns > nested_ns ? passed_ns - nested_ns : 0;
    delay::RecordPause(*caller, std::min(owed_ns, slept_ns), slept_ns);
  }
  // For a thread that got its CPU so late each time that all of these deadlines had passed.
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

// `wait_for(duration)` in virtual time. A null duration never ends.
template <typename WaitFor, typename TimedOut>
inline auto WaitForInVirtualTime(const timespec* duration, WaitFor wait_for, TimedOut timed_out) {
  const auto result = wait_for(duration);
  if (duration == nullptr) return result;
  return GoOnInVirtualTime(
      result,
      [wait_for](uint64_t owed_ns) {
        const timespec more = DurationOf(owed_ns);
        return wait_for(&more);
      },
      timed_out);
}

// As WaitInVirtualTime, for calls that return ETIMEDOUT.
template <typename WaitUntil>
inline int WaitInVirtualTime(const timespec* deadline, WaitUntil wait_until) {
  return WaitInVirtualTime(deadline, wait_until, [](int result) { return result == ETIMEDOUT; });
}

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_VIRTUAL_TIMEOUT_H_
