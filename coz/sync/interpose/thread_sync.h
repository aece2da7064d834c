// What wrapped calls do for the calling thread: pay what it owes, tell its wakees, take credit
// after a wait.
//
// Shape    thread-local pointer to the thread's ledger; null where the thread is not profiled, and
//          every call is then a no-op
// Units    ns of CLOCK_MONOTONIC
// Errors   none
// Threads  each thread touches its own state; the hooks and the global ledger are set once, before
//          threads start
// Signals  every function is async-signal-safe
// Source   docs/design/delays.md, docs/design/waits-and-credit.md
#ifndef COZ_SYNC_INTERPOSE_THREAD_SYNC_H_
#define COZ_SYNC_INTERPOSE_THREAD_SYNC_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "coz/base/clock.h"
#include "coz/sync/delay/accrual.h"
#include "coz/sync/delay/delay_ledger.h"

namespace coz::interpose {

// How the owner of the thread slots (coz/runtime) takes part in the life of threads.
struct ThreadHooks {
  // Returns the ledger of a thread that is about to be created, or null where it cannot be
  // profiled. Called in the creator.
  delay::ThreadLedger* (*reserve)();
  // The thread was not created after all.
  void (*cancel)(delay::ThreadLedger* reserved);
  // First thing in the new thread; null where reserve returned null. At least `stack_bytes` of
  // stack lie below its descriptor.
  void (*start)(delay::ThreadLedger* reserved, uint64_t stack_bytes);
  // Last thing in the thread, after it has paid.
  void (*exit)(delay::ThreadLedger* ledger);
  // The process is about to restrict its own system calls.
  void (*before_seccomp)() = nullptr;
  // Around a system call that copies the process, made past libc's fork: before it, and in the
  // child.
  void (*fork)() = nullptr;
  void (*forked)() = nullptr;
  // A process is about to be made that shares memory or descriptors with this one, and cannot be
  // profiled.
  void (*unfollowed)() = nullptr;
  // The calling thread has paused, and that took so much of its CPU time. Null: nobody asks.
  void (*paused)(uint64_t cpu_ns) = nullptr;
  // For how long the calling thread has waited for a CPU; false where nobody tells. Null: nobody.
  bool (*queued)(uint64_t* queued_ns) = nullptr;
  // The largest LocalDelayAt(now_ns) of all threads, or 0. Null: nobody knows the others.
  uint64_t (*highest_local_delay)(uint64_t now_ns) = nullptr;
};

namespace sync_internal {
// Initial-exec: the runtime is loaded with the program, so its thread-local storage is a fixed
// offset from %fs.
extern __thread delay::ThreadLedger* t_ledger
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern delay::GlobalLedger* g_ledger __attribute__((visibility("hidden")));
extern ThreadHooks g_hooks __attribute__((visibility("hidden")));
extern std::atomic<bool> g_left_for_good __attribute__((visibility("hidden")));
}  // namespace sync_internal

// Before any thread is profiled.
void InitThreadSync(delay::GlobalLedger* global, const ThreadHooks& hooks);

// The calling thread takes part from now on. Its debt starts at nothing.
void EnterThreadSync(delay::ThreadLedger* ledger, uint64_t inherited_local_delay_ns);

// The calling thread takes part no more; returns what it had.
delay::ThreadLedger* LeaveThreadSync();

// The process takes part no more, and what starts in it makes no system call of ours: one could be
// forbidden. Threads other than the calling one keep their ledgers, and pay no more.
void LeaveThreadSyncForGood();

inline bool HasLeftThreadSync() {
  return sync_internal::g_left_for_good.load(std::memory_order_relaxed);
}

inline delay::ThreadLedger* CurrentThreadLedger() { return sync_internal::t_ledger; }

// The caller owes delay, or its running time accrues some, which it imposes before it goes on.
inline bool CallerIsBehind(const delay::ThreadLedger& caller) {
  // One branch for both.
  return (int{delay::IsBehind(*sync_internal::g_ledger, caller)} | int{delay::Accrues(caller)}) !=
         0;
}

// Its running time matters: it accrues delay, or threads may be queued for CPUs.
inline bool CallerIsWatched(const delay::ThreadLedger& caller) {
  return (int{delay::Accrues(caller)} | int{delay::MayBeCrowded(*sync_internal::g_ledger)}) != 0;
}

// It owes delay. What accrues does not matter for a wait's end: excess is absorbed all the same.
inline bool CallerOwes(const delay::ThreadLedger& caller) {
  return delay::IsBehind(*sync_internal::g_ledger, caller);
}

// Nor has it excess that whoever it wakes is to know of.
inline bool CallerHasNoBusiness(const delay::ThreadLedger& caller) {
  return (int{delay::IsLevel(*sync_internal::g_ledger, caller)} & int{!delay::Accrues(caller)}) !=
         0;
}

// Imposes what has accrued for `thread`, the caller, and pauses for what it owes.
void PayDebt(delay::ThreadLedger& thread);

// In a sample that comes while the caller pauses: it stands for so much CPU time of the pause.
void LeaveOutOfPause(uint64_t cpu_ns);

// Where there are more threads than CPUs: at a sample, before its delay is imposed.
void LookAtCpu(delay::ThreadLedger& thread);

// The caller has got its first CPU, and was queued for it since `created_ns`.
void StartOnCpu(delay::ThreadLedger& caller, uint64_t created_ns);

// The caller is back from a wait, and may have been queued for a CPU at its end.
inline void BackOnCpu(delay::ThreadLedger& caller) {
  if (__builtin_expect(delay::MayBeCrowded(*sync_internal::g_ledger), 0)) LookAtCpu(caller);
}

// The same at a call of the program that goes on at `site`. A stretch ends there.
void PayAtCall(delay::ThreadLedger& thread, const void* site);

// Without the pause.
void NoteCallHere(delay::ThreadLedger& thread, const void* site);

// Where the program goes on behind the wrapped call that this is inlined into. A call that is not
// inlined gives a place in this library. That is right too, but tells fewer kinds of stretches
// apart.
#define COZ_CALL_SITE() __builtin_extract_return_addr(__builtin_return_address(0))

[[gnu::always_inline]] inline void NoteCall(delay::ThreadLedger& thread, const void* site) {
  thread.stretches.NoteSite(site);
}

// The caller is at its end.
inline void ImposeAllAccruedHere(delay::ThreadLedger& thread) {
  if (__builtin_expect(delay::Accrues(thread), 0)) {
    delay::ImposeAllAccrued(*sync_internal::g_ledger, thread, MonotonicNowNs());
  }
}

// Called by a thread before anything that may wake or overtake another one.
[[gnu::always_inline]] inline void PayIfBehind() {
  delay::ThreadLedger* thread = sync_internal::t_ledger;
  if (thread == nullptr) return;
  if (__builtin_expect(CallerIsBehind(*thread), 0)) {
    PayAtCall(*thread, COZ_CALL_SITE());
  } else {
    NoteCall(*thread, COZ_CALL_SITE());
  }
}

// Called by a thread after a wait, before it goes on in the program. What it owes grew while it had
// no CPU, so it sleeps for it even where CPUs are to be held.
void PayDebtOfWait(delay::ThreadLedger& thread);
inline void PayAfterWait() {
  delay::ThreadLedger* thread = sync_internal::t_ledger;
  if (thread != nullptr && __builtin_expect(CallerIsBehind(*thread), 0)) PayDebtOfWait(*thread);
}

// The caller comes out of a wait that no profiled thread has ended. It pauses for what other
// threads' stretches in progress stand for, too (delay::LeadOfStretchesInProgress).
void PayForStretchesInProgress(delay::ThreadLedger& thread);

// Pays, and leaves the caller's local delay for whoever it wakes through `object`, at a call that
// goes on at `site`.
void PayBeforeWakeAt(const void* object, const void* site);
[[gnu::always_inline]] inline void PayBeforeWake(const void* object) {
  PayBeforeWakeAt(object, COZ_CALL_SITE());
}

// `call` after PayBeforeWake(object). Where the caller neither owes nor has excess, as nearly
// always, that is a jump to it.
template <typename Call>
[[gnu::noinline, gnu::cold]] auto PayAndCallSlowly(const void* object, const void* site,
                                                   Call call) {
  PayBeforeWakeAt(object, site);
  return call();
}
template <typename Call>
[[gnu::always_inline]] inline auto PayAndCall(const void* object, Call call) {
  delay::ThreadLedger* thread = sync_internal::t_ledger;
  if (__builtin_expect(thread == nullptr, 0)) return call();
  if (__builtin_expect(!CallerHasNoBusiness(*thread), 0)) {
    return PayAndCallSlowly(object, COZ_CALL_SITE(), call);
  }
  NoteCall(*thread, COZ_CALL_SITE());
  return call();
}

namespace sync_internal {
// How often the calling thread has given up its CPU of its own accord, plus 1. 0 where no system
// call may be made to ask.
uint64_t SwitchesPlus1();
}  // namespace sync_internal

// The caller begins a wait that another thread may end.
inline delay::Wait BeginThreadWait(delay::ThreadLedger& caller, uint64_t now_ns) {
  delay::Wait wait = delay::BeginWait(caller, now_ns);
  if (__builtin_expect(delay::HasExcess(*sync_internal::g_ledger, caller), 0)) {
    wait.switches_plus_1 = sync_internal::SwitchesPlus1();
  }
  return wait;
}

// Whether the caller blocked in the wait, which may have been over before it began. Only excess is
// absorbed by a wait, so without excess nobody asks, and the answer is yes.
inline bool HasBlocked(const delay::Wait& wait) {
  return __builtin_expect(wait.switches_plus_1 == 0, 1) ||
         wait.switches_plus_1 != sync_internal::SwitchesPlus1();
}

// The caller runs again, however its wait ended.
inline void ResumeRunning(delay::ThreadLedger& caller) {
  if (__builtin_expect(!CallerIsWatched(caller), 1)) return;
  const uint64_t now_ns = MonotonicNowNs();
  delay::ResumeStretch(caller, now_ns);
  BackOnCpu(caller);
}

// Another thread ended it, whose local delay was so much; 0 where unknown.
inline void EndThreadWait(delay::ThreadLedger& caller, const delay::Wait& wait, uint64_t now_ns,
                          uint64_t waker_local_delay_ns) {
  delay::EndWaitCredited(*sync_internal::g_ledger, caller, wait, now_ns, waker_local_delay_ns,
                         HasBlocked(wait));
}

// The same of a wait that the program itself has marked (coz.h), as a loop that spins. It has
// waited if it took longer than one that returns at once.
inline constexpr uint64_t kLongestWithoutWaitNs = 2000;
inline void EndMarkedWait(delay::ThreadLedger& caller, const delay::Wait& wait, uint64_t now_ns) {
  const bool has_waited = now_ns - wait.start_ns > kLongestWithoutWaitNs || HasBlocked(wait);
  delay::EndWaitCredited(*sync_internal::g_ledger, caller, wait, now_ns, 0, has_waited);
}

// Whether a wait that another thread ends may have been over before it began, as the join of a
// thread that has ended. One that is known not to be, as that for a lock which could not be had
// just now, may spin and never give up its CPU.
enum class WaitStart { kMayBeOver, kIsAhead };

// A wait of the calling thread that another thread may end.
class BlockedScope {
 public:
  explicit BlockedScope(WaitStart start = WaitStart::kMayBeOver)
      : thread_(sync_internal::t_ledger) {
    if (thread_ == nullptr) return;
    const uint64_t now_ns = MonotonicNowNs();
    wait_ = start == WaitStart::kIsAhead ? delay::BeginWait(*thread_, now_ns)
                                         : BeginThreadWait(*thread_, now_ns);
  }
  BlockedScope(const BlockedScope&) = delete;
  BlockedScope& operator=(const BlockedScope&) = delete;

  // Another thread ended the wait through `object`. Exactly one of these two is called.
  void EndedByThread(const void* object) {
    if (thread_ == nullptr) return;
    const uint64_t now_ns = MonotonicNowNs();
    delay::ResumeStretch(*thread_, now_ns);
    BackOnCpu(*thread_);
    EndThreadWait(*thread_, wait_, now_ns, sync_internal::g_ledger->wakes.Find(object));
  }
  // It timed out, was interrupted, or something outside of the program ended it.
  void EndedOtherwise() {
    if (thread_ == nullptr) return;
    ResumeRunning(*thread_);
    delay::EndWaitUncredited(*thread_);
  }
  // When it began; 0 where the thread is not profiled.
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
};

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_THREAD_SYNC_H_
