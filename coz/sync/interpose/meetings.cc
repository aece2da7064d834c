// What meetings do to the caller's delay. Process: target. Context: the program's threads.
#include "coz/sync/interpose/meetings.h"

#include "coz/base/clock.h"

namespace coz::interpose {

namespace sync_internal {
delay::ReleaseTable g_monitors;
delay::ReleaseTable g_semaphores;
delay::BarrierTable g_barriers;
__thread delay::WaitedMonitors t_waited_monitors
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) = {};
}  // namespace sync_internal

void PayBeforeAcquireAt(delay::ThreadLedger& thread, const void* mutex, const void* site) {
  ImposeAtCall(thread, site, CallsThatEnd::kFew);
  // Only a thread that accrues may be earlier in virtual time than in real time.
  if (delay::Accrues(thread)) {
    delay::GoOnAfterRelease(*sync_internal::g_ledger, sync_internal::g_monitors,
                            sync_internal::t_waited_monitors, thread, mutex, MonotonicNowNs);
  }
  PayAfterImposing(thread);
}

void NoteReleaseHere(const delay::ThreadLedger& thread, const void* mutex) {
  delay::NoteRelease(*sync_internal::g_ledger, sync_internal::g_monitors, thread, mutex,
                     MonotonicNowNs);
}

void NoteWaitHere(const delay::ThreadLedger& thread, const void* mutex) {
  NoteReleaseHere(thread, mutex);
  sync_internal::t_waited_monitors.Note(
      mutex, sync_internal::g_ledger->selection.load(std::memory_order_relaxed), MonotonicNowNs());
}

void NotePostHere(const delay::ThreadLedger& thread, const void* semaphore) {
  delay::NotePost(*sync_internal::g_ledger, sync_internal::g_semaphores, thread, semaphore,
                  MonotonicNowNs);
}

void GoOnAfterPostHere(delay::ThreadLedger& thread, const void* semaphore) {
  delay::GoOnAfterPost(*sync_internal::g_ledger, sync_internal::g_semaphores, thread, semaphore,
                       MonotonicNowNs);
}

void NoteArrival(const delay::ThreadLedger& thread, delay::LatestTime& arrivals) {
  if (!delay::TimePassesAtMeetings(*sync_internal::g_ledger)) return;
  arrivals.Note(delay::VirtualTimeAt(thread, MonotonicNowNs()));
}

const delay::LatestTime* ArriveAtBarrier(const void* barrier) {
  const delay::ThreadLedger* thread = CurrentThreadLedger();
  // Who is not profiled takes its place in the round all the same.
  const uint64_t virtual_ns =
      thread != nullptr && delay::TimePassesAtMeetings(*sync_internal::g_ledger)
          ? delay::VirtualTimeAt(*thread, MonotonicNowNs())
          : 0;
  return sync_internal::g_barriers.Arrive(barrier, virtual_ns);
}

void LeaveMeeting(const delay::LatestTime* arrivals) {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (thread == nullptr || arrivals == nullptr) return;
  if (!delay::TimePassesAtMeetings(*sync_internal::g_ledger)) return;
  delay::GoOnAfterLatest(*sync_internal::g_ledger, *thread, *arrivals, MonotonicNowNs());
}

}  // namespace coz::interpose
