// What wrapped calls do for the calling thread: pay what it owes, leave its local delay for those
// that it wakes, and take credit after a wait.
//
// Shape    a thread-local pointer to the thread's ledger. It is null where the thread is not
//          profiled; every call then does nothing
// Units    ns of CLOCK_MONOTONIC
// Errors   none
// Threads  each thread changes only its own state; the hooks and the global ledger are set once,
//          before threads start
// Signals  every function is async-signal-safe
// Source   docs/design/delays.md, docs/design/waits-and-credit.md
#ifndef COZ_SYNC_INTERPOSE_THREAD_SYNC_H_
#define COZ_SYNC_INTERPOSE_THREAD_SYNC_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "coz/base/clock.h"
#include "coz/base/current_cpu.h"
#include "coz/sync/delay/accrual.h"
#include "coz/sync/delay/delay_ledger.h"
#include "coz/sync/delay/outside_wait.h"
#include "coz/sync/interpose/pause.h"

namespace coz::interpose {

using delay::CallsThatEnd;

// Hooks by which the owner of the thread slots (coz/runtime) takes part in the life of threads.
struct ThreadHooks {
  // Returns the ledger of a thread that is about to be created, or null where it cannot be
  // profiled. Called in the creator.
  delay::ThreadLedger* (*reserve)();
  // The thread was not created after all.
  void (*cancel)(delay::ThreadLedger* reserved);
  // Called first in the new thread. `reserved` is null where reserve returned null. At least
  // `stack_bytes` of stack lie below the thread's descriptor.
  void (*start)(delay::ThreadLedger* reserved, uint64_t stack_bytes);
  // Called last in the thread, after it has paid.
  void (*exit)(delay::ThreadLedger* ledger);
  // The process is about to restrict its own system calls.
  void (*before_restriction)() = nullptr;
  // The process is about to be traced by its parent.
  void (*before_traced)() = nullptr;
  // The program copies the process by a system call of its own and not by libc's fork. `fork` is
  // called before that, `forked` after it in the child.
  void (*fork)() = nullptr;
  void (*forked)() = nullptr;
  // The program is about to make a process that shares memory or descriptors with this one. It
  // cannot be profiled.
  void (*unfollowed)() = nullptr;
  // The program is about to make a thread by a system call of its own. It has the calling thread's
  // thread-local data, or some that libc knows nothing of.
  void (*raw_thread)() = nullptr;
  // The calling thread has paused, and that took `cpu_ns` of its CPU time. May be null.
  void (*paused)(uint64_t cpu_ns) = nullptr;
  // Gives for how long the calling thread has been queued for a CPU in all. Returns false where
  // that is unknown. Null: it is always unknown.
  bool (*queued)(uint64_t* queued_ns) = nullptr;
  // Returns the largest LocalDelayAt(now_ns) of all threads, or 0. Null: it is unknown.
  uint64_t (*highest_local_delay)(uint64_t now_ns) = nullptr;
  // The calling thread was there before the profiler, and makes its first wrapped call. Returns its
  // ledger, or null where it gets none. See AdmitLateThreads.
  delay::ThreadLedger* (*admit)() = nullptr;
  // The outside has ended a wait of the calling thread, in a wrapped call. May impose delay. Null:
  // such waits are no units.
  void (*outside_wait)(delay::ThreadLedger& ledger, const delay::OutsideWait& wait) = nullptr;
  // A wait that is no unit has ended: another thread, a time-out or a signal has ended it. Null
  // where `outside_wait` is; may be null.
  void (*own_wait)(delay::ThreadLedger& ledger, const delay::OutsideWait& wait) = nullptr;
};

namespace sync_internal {
// Initial-exec works because the runtime is loaded with the program: its thread-local storage is at
// a fixed offset from %fs.
extern __thread delay::ThreadLedger* t_unseen_ledger
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern __thread delay::ThreadLedger* t_ledger
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern delay::GlobalLedger* g_ledger __attribute__((visibility("hidden")));
extern ThreadHooks g_hooks __attribute__((visibility("hidden")));
extern std::atomic<bool> g_admits_late_threads __attribute__((visibility("hidden")));
// The CPU time that a pause asleep takes, in the mean of the last ones of all threads. On a cache
// line of its own, for each call reads the other variables.
struct alignas(64) SleepCost {
  std::atomic<uint32_t> ns{0};
};
extern SleepCost g_sleep_cost __attribute__((visibility("hidden")));
// The stack frame of the pause in progress.
extern __thread uintptr_t t_pause_frame
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
// The ledger of a thread that has none: it gets one where late threads are admitted. Else null.
delay::ThreadLedger* LateLedger();
}  // namespace sync_internal

// To be called before any thread is profiled.
void InitThreadSync(delay::GlobalLedger* global, const ThreadHooks& hooks);

// The calling thread takes part from now on, with `inherited_local_delay_ns` as its local delay.
void EnterThreadSync(delay::ThreadLedger* ledger, uint64_t inherited_local_delay_ns);

// The calling thread takes part no more. Returns the ledger that it had.
delay::ThreadLedger* LeaveThreadSync();

// The process takes part no more. New threads in it make none of our system calls, since these
// could be forbidden. Threads other than the calling one keep their ledgers but do not pay any
// more.
void LeaveThreadSyncForGood();

inline bool HasLeftThreadSync() {
  return sync_internal::g_left_for_good.load(std::memory_order_relaxed);
}
// Of the byte that says so. Whoever sets it to 1 makes the process leave.
inline uint64_t AddressOfHasLeft() {
  static_assert(sizeof(sync_internal::g_left_for_good) == 1);
  return reinterpret_cast<uint64_t>(&sync_internal::g_left_for_good);
}

// From now on a thread without a ledger gets one at its first wrapped call, or none any more. For a
// process that had threads before it was profiled.
void AdmitLateThreads(bool admits);

inline delay::ThreadLedger* CurrentThreadLedger() {
  delay::ThreadLedger* const ledger = sync_internal::t_ledger;
  return __builtin_expect(ledger == nullptr, 0) ? sync_internal::LateLedger() : ledger;
}
// The same for a thread that is to have no ledger if it has none.
inline delay::ThreadLedger* LedgerSoFar() { return sync_internal::t_ledger; }
// The same, also while the thread's calls are unseen.
inline delay::ThreadLedger* LedgerEvenIfUnseen() {
  delay::ThreadLedger* const ledger = LedgerSoFar();
  return ledger != nullptr ? ledger : sync_internal::t_unseen_ledger;
}

// While it lives, wrapped calls of the calling thread are libc's alone: they neither pay, nor end a
// wait that is under way around them. Samples of the thread go on. Scopes do not nest.
class UnseenScope {
 public:
  UnseenScope() : ledger_(sync_internal::t_ledger) {
    if (ledger_ == nullptr) return;
    sync_internal::t_unseen_ledger = ledger_;
    sync_internal::t_ledger = nullptr;
  }
  ~UnseenScope() {
    if (ledger_ == nullptr) return;
    sync_internal::t_ledger = ledger_;
    sync_internal::t_unseen_ledger = nullptr;
  }
  UnseenScope(const UnseenScope&) = delete;
  UnseenScope& operator=(const UnseenScope&) = delete;

 private:
  delay::ThreadLedger* const ledger_;
};

// Whether the caller is on a CPU in a crowd of which it does not know yet what it owes.
inline bool CallerMustGoOnHere(const delay::ThreadLedger& caller) {
  return __builtin_expect(delay::MayBeCrowded(*sync_internal::g_ledger), 0) &&
         delay::MustGoOnHere(*sync_internal::g_ledger, caller, CurrentCpu());
}
// Then the caller goes on from where its CPU stands.
void GoOnHere(delay::ThreadLedger& caller);

// Whether the caller owes delay, or accrues delay that it has to impose before it goes on.
inline bool CallerIsBehind(const delay::ThreadLedger& caller) {
  // `|` instead of `||` makes one branch of both.
  return (int{delay::IsBehind(*sync_internal::g_ledger, caller)} | int{delay::Accrues(caller)}) !=
             0 ||
         CallerMustGoOnHere(caller);
}

// Whether a caller that is behind may go on without a look at this call, which returns to `site`.
// It may where it has nothing to pay for now, and the call ends no stretch. Nearly all calls in
// quick succession may. A look costs most where locks are held meanwhile.
[[gnu::always_inline]] inline bool MaySkipCall(delay::ThreadLedger& caller, const void* site,
                                               CallsThatEnd ends = CallsThatEnd::kMany) {
  if (CallerMustGoOnHere(caller)) GoOnHere(caller);
  if (delay::OwesPause(*sync_internal::g_ledger, caller)) return false;
  if (delay::Accrues(caller)) return caller.stretches.SkipsCall(ends);
  caller.stretches.NoteSite(site);
  return true;
}

// Whether the caller's running time matters: it accrues delay, or threads may be queued for CPUs.
inline bool CallerIsWatched(const delay::ThreadLedger& caller) {
  return (int{delay::Accrues(caller)} | int{delay::MayBeCrowded(*sync_internal::g_ledger)}) != 0;
}

// Whether the caller owes delay. Accrual does not matter at the end of a wait: the wait absorbs
// excess in any case.
inline bool CallerOwes(const delay::ThreadLedger& caller) {
  return delay::IsBehind(*sync_internal::g_ledger, caller);
}

// Whether the caller owes nothing, accrues nothing, and has no excess to publish for its wakees.
inline bool CallerHasNoBusiness(const delay::ThreadLedger& caller) {
  return (int{delay::IsLevel(*sync_internal::g_ledger, caller)} & int{!delay::Accrues(caller)}) !=
             0 &&
         !CallerMustGoOnHere(caller);
}

// Whether the caller neither owes delay nor has excess. It may accrue delay.
inline bool CallerIsLevel(const delay::ThreadLedger& caller) {
  return delay::IsLevel(*sync_internal::g_ledger, caller);
}

// Imposes what has accrued for `thread`, the caller, and pauses for what it owes.
void PayDebt(delay::ThreadLedger& thread);

// Whether `thread`, the caller, was in a pause when a signal interrupted it at `stack_pointer`. A
// pause that a handler of the program has left by longjmp is over.
bool IsInPause(delay::ThreadLedger& thread, uintptr_t stack_pointer);

// Leaves `cpu_ns` out of the CPU time of the pause in progress: a sample in the pause stands for
// it.
void LeaveOutOfPause(uint64_t cpu_ns);

// Takes a CPU look at `now_ns`: `thread`, the caller, goes on from where its CPU stands. For
// samples in a crowd, before their delay is imposed. Returns for how long the thread was queued
// since its last look.
uint64_t LookAtCpu(delay::ThreadLedger& thread, uint64_t now_ns);

// Credits the caller, a new thread, for its time in the queue since `created_ns`.
void StartOnCpu(delay::ThreadLedger& caller, uint64_t created_ns);

// The time now, where it was read for another purpose already: to read the clock again is much of
// what a wrapped call costs.
inline constexpr uint64_t kNotRead = 0;

// Before a wait, or what may be one: the caller leaves its CPU to the next thread.
inline void LeaveCpu(delay::ThreadLedger& caller, uint64_t now_ns = kNotRead) {
  if (__builtin_expect(!delay::MayBeCrowded(*sync_internal::g_ledger), 1)) return;
  delay::LeaveCpu(*sync_internal::g_ledger, caller, CurrentCpu(),
                  now_ns != kNotRead ? now_ns : MonotonicNowNs());
}

// In a crowd the caller, whose wait has ended, takes its CPU at `now_ns`. Returns for how long it
// was queued for that.
uint64_t TakeCpu(delay::ThreadLedger& caller, uint64_t now_ns);
inline uint64_t BackOnCpu(delay::ThreadLedger& caller, uint64_t now_ns) {
  if (__builtin_expect(!delay::MayBeCrowded(*sync_internal::g_ledger), 1)) return 0;
  return TakeCpu(caller, now_ns);
}

// As PayDebt, at a call of the program that returns to `site`. A stretch ends there. Returns the
// time now, or kNotRead.
uint64_t PayAtCall(delay::ThreadLedger& thread, const void* site,
                   CallsThatEnd ends = CallsThatEnd::kMany);
// The same in two steps. The second returns whether it has paused.
uint64_t ImposeAtCall(delay::ThreadLedger& thread, const void* site,
                      CallsThatEnd ends = CallsThatEnd::kMany);
bool PayAfterImposing(delay::ThreadLedger& thread);

// As PayAtCall, without the pause.
void NoteCallHere(delay::ThreadLedger& thread, const void* site,
                  CallsThatEnd ends = CallsThatEnd::kMany);

// Notes `site`, where the program goes on after a wrapped call. COZ_CALL_SITE() gives the program's
// place only where everything up to the wrapped call is inlined. Else it gives a place in this
// library. That is right too, but tells fewer kinds of stretches apart.
#define COZ_CALL_SITE() __builtin_extract_return_addr(__builtin_return_address(0))

[[gnu::always_inline]] inline void NoteCall(delay::ThreadLedger& thread, const void* site) {
  thread.stretches.NoteSite(site);
}

// Imposes all that has accrued for `thread`, the caller, which is at its end.
inline void ImposeAllAccruedHere(delay::ThreadLedger& thread) {
  if (__builtin_expect(delay::Accrues(thread), 0)) {
    delay::ImposeAllAccrued(*sync_internal::g_ledger, thread, MonotonicNowNs());
  }
}

// A thread calls this before anything that may wake or overtake another thread. Returns the time
// now, or kNotRead.
template <CallsThatEnd kEnds = CallsThatEnd::kMany>
[[gnu::always_inline]] inline uint64_t PayIfBehind() {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (thread == nullptr) return kNotRead;
  if (__builtin_expect(CallerIsBehind(*thread), 0)) {
    if (!MaySkipCall(*thread, COZ_CALL_SITE(), kEnds)) {
      return PayAtCall(*thread, COZ_CALL_SITE(), kEnds);
    }
  } else {
    NoteCall(*thread, COZ_CALL_SITE());
  }
  return kNotRead;
}

// A thread calls this after a wait, before it goes on in the program. Its debt grew while it had no
// CPU, so it sleeps to pay, even where pauses hold their CPUs.
// `as`: kWaitingOn where no profiled thread has ended the wait.
void PayDebtOfWait(delay::ThreadLedger& thread, uint32_t as);
inline void PayAfterWait() {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (thread != nullptr && __builtin_expect(CallerIsBehind(*thread), 0)) {
    PayDebtOfWait(*thread, delay::kWaitingOn);
  }
}
// The same after a wait that a profiled thread has ended. In a crowd what the caller owes then is
// its CPU's debt.
inline void PayAfterWake() {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (thread == nullptr || __builtin_expect(!CallerIsBehind(*thread), 1)) return;
  if (delay::MayBeCrowded(*sync_internal::g_ledger)) {
    PayDebt(*thread);
  } else {
    PayDebtOfWait(*thread, delay::kPausing);
  }
}

// For the end of a wait that no profiled thread has ended. The caller also pauses for the stretches
// in progress of other threads (delay::LeadOfStretchesInProgress).
void PayForStretchesInProgress(delay::ThreadLedger& thread);

// Pays, and leaves the caller's excess for the threads that it wakes through `object`. For a call
// that returns to `site`.
void PayBeforeWakeAt(const void* object, const void* site, CallsThatEnd ends = CallsThatEnd::kMany);
[[gnu::always_inline]] inline void PayBeforeWake(const void* object) {
  PayBeforeWakeAt(object, COZ_CALL_SITE());
}

// Makes `call` after PayBeforeWake(object). Nearly always the caller neither owes nor has excess;
// this is then a jump to `call`.
template <CallsThatEnd kEnds, typename Call>
[[gnu::noinline, gnu::cold]] auto PayAndCallSlowly(const void* object, const void* site,
                                                   Call call) {
  PayBeforeWakeAt(object, site, kEnds);
  return call();
}
template <CallsThatEnd kEnds = CallsThatEnd::kMany, typename Call>
[[gnu::always_inline]] inline auto PayAndCall(const void* object, Call call) {
  delay::ThreadLedger* thread = CurrentThreadLedger();
  if (__builtin_expect(thread == nullptr, 0)) return call();
  if (__builtin_expect(!CallerHasNoBusiness(*thread), 0)) {
    if (CallerIsLevel(*thread) && MaySkipCall(*thread, COZ_CALL_SITE(), kEnds)) return call();
    return PayAndCallSlowly<kEnds>(object, COZ_CALL_SITE(), call);
  }
  NoteCall(*thread, COZ_CALL_SITE());
  return call();
}

namespace sync_internal {
// How often the calling thread has given up its CPU of its own accord, plus 1. 0 where it may not
// make the system call that tells this.
uint64_t SwitchesPlus1();
}  // namespace sync_internal

// Begins a wait of the caller that another thread may end.
inline delay::Wait BeginThreadWait(delay::ThreadLedger& caller, uint64_t now_ns) {
  delay::Wait wait = delay::BeginWait(caller, now_ns);
  if (__builtin_expect(delay::HasExcess(*sync_internal::g_ledger, caller), 0)) {
    wait.switches_plus_1 = sync_internal::SwitchesPlus1();
  }
  return wait;
}

// Whether the caller blocked in the wait. The wait may have been over before it began. That matters
// only for excess, which a wait absorbs. So without excess the answer is yes, without a look.
inline bool HasBlocked(const delay::Wait& wait) {
  return __builtin_expect(wait.switches_plus_1 == 0, 1) ||
         wait.switches_plus_1 != sync_internal::SwitchesPlus1();
}

// Notes that the caller, which is watched, runs again at `now_ns` after a wait, in whatever way the
// wait ended. Returns for how long it was queued for a CPU.
inline uint64_t ResumeRunningAt(delay::ThreadLedger& caller, uint64_t now_ns) {
  delay::ResumeStretch(caller, now_ns);
  return BackOnCpu(caller, now_ns);
}
// The same of any caller, now.
inline uint64_t ResumeRunning(delay::ThreadLedger& caller) {
  if (__builtin_expect(!CallerIsWatched(caller), 1)) return 0;
  return ResumeRunningAt(caller, MonotonicNowNs());
}

// Ends a wait that another thread ended. `waker_local_delay_ns` is that thread's local delay, or 0
// where it is unknown.
inline void EndThreadWait(delay::ThreadLedger& caller, const delay::Wait& wait, uint64_t now_ns,
                          uint64_t waker_local_delay_ns) {
  delay::EndWaitCredited(*sync_internal::g_ledger, caller, wait, now_ns, waker_local_delay_ns,
                         HasBlocked(wait));
}

// The same for a wait that the program itself has marked (coz.h), such as a loop that spins. The
// thread has waited if the wait took longer than one that is over at once.
inline constexpr uint64_t kLongestWithoutWaitNs = 2000;
inline void EndMarkedWait(delay::ThreadLedger& caller, const delay::Wait& wait, uint64_t now_ns) {
  const bool has_waited = now_ns - wait.start_ns > kLongestWithoutWaitNs || HasBlocked(wait);
  delay::EndWaitCredited(*sync_internal::g_ledger, caller, wait, now_ns, 0, has_waited);
}

// Behind a call that only tries: `result` where it has taken the lock, or `busy`.
inline int NoteTry(int result, int busy) {
  if (delay::ThreadLedger* thread = CurrentThreadLedger(); thread != nullptr) {
    thread->spinning.NoteTry(result == busy);
  }
  return result;
}

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_THREAD_SYNC_H_
