// Meetings at which no thread blocks: virtual time passes there, too (delay/meeting.h).
//
// Shape    the process's tables of monitors and barriers, and what the wrapped calls do with them
// Units    ns of CLOCK_MONOTONIC
// Errors   none
// Threads  safe
// Signals  async-signal-safe
// Source   docs/design/waits-and-credit.md, "Meetings"
#ifndef COZ_SYNC_INTERPOSE_MEETINGS_H_
#define COZ_SYNC_INTERPOSE_MEETINGS_H_

#include <cstdint>

#include "coz/sync/delay/meeting.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {

namespace sync_internal {
extern delay::ReleaseTable g_monitors __attribute__((visibility("hidden")));
extern delay::ReleaseTable g_semaphores __attribute__((visibility("hidden")));
extern delay::BarrierTable g_barriers __attribute__((visibility("hidden")));
}  // namespace sync_internal

// A call that takes `mutex` and goes on at `site`: the caller pays, and goes on no earlier than the
// last release where `mutex` is a monitor.
void PayBeforeAcquireAt(delay::ThreadLedger& thread, const void* mutex, const void* site);
// Whether a caller that accrues delay may take `mutex` without that. A monitor it may not: the
// caller may be earlier in virtual time than the last release.
[[gnu::always_inline]] inline bool MaySkipAcquire(delay::ThreadLedger& caller, const void* mutex,
                                                  const void* site) {
  return sync_internal::g_monitors.Find(mutex) == nullptr &&
         MaySkipCall(caller, site, CallsThatEnd::kFew);
}
[[gnu::always_inline]] inline void PayBeforeAcquire(const void* mutex) {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (thread == nullptr) return;
  if (__builtin_expect(CallerIsBehind(*thread), 0)) {
    if (!MaySkipAcquire(*thread, mutex, COZ_CALL_SITE())) {
      PayBeforeAcquireAt(*thread, mutex, COZ_CALL_SITE());
    }
  } else {
    NoteCall(*thread, COZ_CALL_SITE());
  }
}

// The caller has paid and is about to release `mutex`.
void NoteReleaseHere(const delay::ThreadLedger& thread, const void* mutex);
// The same, where the thread is about to wait on a condition.
void NoteWaitHere(const delay::ThreadLedger& thread, const void* mutex);

// The caller has paid and is about to post `semaphore`, or has taken a post of it without a wait.
void NotePostHere(const delay::ThreadLedger& thread, const void* semaphore);
void GoOnAfterPostHere(delay::ThreadLedger& thread, const void* semaphore);

// `call` releases `object`. As PayAndCall, and a release that is due is noted by `kNote`.
using NoteObject = void (*)(const delay::ThreadLedger& thread, const void* object);
template <CallsThatEnd kEnds, NoteObject kNote, typename Call>
[[gnu::noinline, gnu::cold]] auto PayAndNoteSlowly(const void* object, const void* site,
                                                   bool is_due, Call call) {
  PayBeforeWakeAt(object, site, kEnds);
  if (is_due) kNote(*CurrentThreadLedger(), object);
  return call();
}
template <CallsThatEnd kEnds, NoteObject kNote, typename Call>
[[gnu::always_inline]] inline auto PayAndNote(const void* object, Call call) {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (__builtin_expect(thread == nullptr, 0)) return call();
  const bool is_due = thread->releases.IsDue();
  // One branch for both.
  if (__builtin_expect(int{!CallerHasNoBusiness(*thread)} | int{is_due}, 0)) {
    if (!is_due && CallerIsLevel(*thread) && MaySkipCall(*thread, COZ_CALL_SITE(), kEnds)) {
      return call();
    }
    return PayAndNoteSlowly<kEnds, kNote>(object, COZ_CALL_SITE(), is_due, call);
  }
  NoteCall(*thread, COZ_CALL_SITE());
  return call();
}
template <typename Call>
[[gnu::always_inline]] inline auto PayAndRelease(const void* mutex, Call call) {
  return PayAndNote<CallsThatEnd::kFew, NoteReleaseHere>(mutex, call);
}
template <typename Call>
[[gnu::always_inline]] inline auto PayAndPost(const void* semaphore, Call call) {
  return PayAndNote<CallsThatEnd::kMany, NotePostHere>(semaphore, call);
}

// The caller is about to wait on a condition with `mutex`, which releases it: `mutex` is a monitor.
// Pays before.
[[gnu::always_inline]] inline void PayBeforeConditionWait(const void* mutex) {
  PayBeforeWake(mutex);
  if (const delay::ThreadLedger* thread = CurrentThreadLedger()) {
    sync_internal::g_monitors.Add(mutex);
    NoteWaitHere(*thread, mutex);
  }
}

// A barrier for `threads` threads; 0: it is none any more.
inline void NoteBarrier(const void* barrier, uint32_t threads) {
  sync_internal::g_barriers.Add(barrier, threads);
}

// The caller has paid and comes to `barrier`. Returns what LeaveMeeting takes.
const delay::LatestTime* ArriveAtBarrier(const void* barrier);

// A thread that has paid comes to a meeting.
void NoteArrival(const delay::ThreadLedger& thread, delay::LatestTime& arrivals);

// The caller leaves it, however its wait ended. `arrivals` may be null.
void LeaveMeeting(const delay::LatestTime* arrivals);

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_MEETINGS_H_
