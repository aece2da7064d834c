// A wait of the calling thread in a call that another thread may end: for a lock, a condition, the
// end of a thread.
//
// Shape    a scope around the call
// Units    ns of CLOCK_MONOTONIC
// Errors   none
// Threads  each thread its own waits
// Signals  async-signal-safe
// Source   docs/design/waits-and-credit.md, "The rule"
#ifndef COZ_SYNC_INTERPOSE_BLOCKED_SCOPE_H_
#define COZ_SYNC_INTERPOSE_BLOCKED_SCOPE_H_

#include <cstdint>

#include "coz/base/clock.h"
#include "coz/sync/delay/accrual.h"
#include "coz/sync/delay/delay_ledger.h"
#include "coz/sync/interpose/outside_wait.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {

// Whether a wait may be over before it begins. The join of a thread that has ended is. A wait for a
// lock that was just found taken is not: it lies ahead, although the thread may spin in it and
// never give up its CPU.
enum class WaitStart { kMayBeOver, kIsAhead };

// A wait of the calling thread that another thread may end.
class BlockedScope {
 public:
  explicit BlockedScope(WaitStart start = WaitStart::kMayBeOver) : thread_(CurrentThreadLedger()) {
    if (thread_ == nullptr) return;
    const uint64_t now_ns = MonotonicNowNs();
    LeaveCpu(*thread_, now_ns);
    wait_ = start == WaitStart::kIsAhead ? delay::BeginWait(*thread_, now_ns)
                                         : BeginThreadWait(*thread_, now_ns);
    own_.Start(*thread_);
  }
  BlockedScope(const BlockedScope&) = delete;
  BlockedScope& operator=(const BlockedScope&) = delete;

  // Another thread ended the wait through `object`. The caller calls this or EndedOtherwise, once.
  void EndedByThread(const void* object) {
    if (thread_ == nullptr) return;
    const uint64_t now_ns = MonotonicNowNs();
    delay::ResumeStretch(*thread_, now_ns);
    const uint64_t queued_ns = BackOnCpu(*thread_, now_ns);
    EndThreadWait(*thread_, wait_, now_ns, sync_internal::g_ledger->wakes.Find(object));
    delay::GoOnFromCpu(*sync_internal::g_ledger, *thread_);
    own_.End(*thread_, queued_ns);
  }
  // The wait timed out or was interrupted, or something outside the program ended it.
  void EndedOtherwise() {
    if (thread_ == nullptr) return;
    const uint64_t queued_ns = ResumeRunning(*thread_);
    if (__builtin_expect(queued_ns == 0 && wait_.left_ns == 0, 1)) {
      delay::EndWaitUncredited(*thread_);
    } else {
      delay::EndUncreditedWaitOfQueued(*sync_internal::g_ledger, *thread_, wait_, MonotonicNowNs(),
                                       queued_ns);
    }
    own_.End(*thread_, queued_ns);
  }
  // When the wait began; 0 where the thread is not profiled.
  uint64_t start_ns() const { return wait_.start_ns; }

  void End(bool by_thread, const void* object) {
    if (by_thread) {
      EndedByThread(object);
    } else {
      EndedOtherwise();
    }
  }

 private:
  delay::ThreadLedger* thread_;
  delay::Wait wait_ = {};
  OwnWait own_;
};

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_BLOCKED_SCOPE_H_
