// The delay ledger: which thread has served how much of the delay that virtual speedups require of
// all threads.
//
// Every thread has a virtual time: real time less its local delay. A sample in the selected unit
// raises the sampled thread's local delay, and the global delay where that falls behind. So the
// virtual time of the sampled thread falls behind real time without a pause. Every other thread
// pauses until its local delay has reached the global one. Waking is the only way in which one
// thread's time reaches another, so a woken thread takes over the waker's virtual time unless its
// own is later:
//
//     virtual time after the wait = max(own virtual time at the start of the wait, waker's virtual
//     time at the wake)
//
// All rules here follow from that line. Credit is never more than the time really spent blocked,
// nor more than what the waker has served. A wait that did not block is credited nothing. Time
// slept too long (*excess*) is absorbed by a wait like any other delay.
//
// Shape    GlobalLedger: one per run, in memory that all profiled processes and the supervisor
//          share. ThreadLedger: one per thread, in the same memory; written by its thread, read by
//          the supervisor
// Units    ns of CLOCK_MONOTONIC; all counters are cumulative and never reset
// Errors   none
// Threads  GlobalLedger: safe. ThreadLedger: owner writes, anybody reads
// Signals  every function is async-signal-safe, and safe against a handler of the same thread that
//          imposes or pays in its middle: nothing is lost, nothing counts twice
// Source   Curtsinger and Berger, SOSP 2015, section 3.4; the virtual-time form is ours
//          (docs/design/delays.md)
#ifndef COZ_SYNC_DELAY_DELAY_LEDGER_H_
#define COZ_SYNC_DELAY_DELAY_LEDGER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "coz/sync/delay/cpu_share.h"
#include "coz/sync/delay/spin_share.h"
#include "coz/sync/delay/stretches.h"
#include "coz/sync/delay/wake_table.h"

namespace coz::delay {

struct GlobalLedger {
  // What is required of every thread. Raised by samples in the selected unit.
  alignas(64) std::atomic<uint64_t> global_delay_ns;
  // Debts older than this are not collected: a thread that waited in an uninterposed call for a
  // minute does not pause for what was inserted in all that time, but at most for the current and
  // the previous experiment. Written by the supervisor.
  std::atomic<uint64_t> forgiven_below_ns;
  // The highest local delay that a thread has published for those whom it wakes through a
  // descriptor. It is above the global delay only where a thread with excess published a moment
  // ago.
  std::atomic<uint64_t> highest_published_ns;
  // What is sped up at this moment, and by how much; 0: nothing. Here it only matters whether it is
  // still the same: what is left of one experiment is no part of the next. Written by the
  // supervisor.
  std::atomic<uint64_t> selection;
  // The number of CPUs, in a crowd; else 0. Written by the supervisor.
  alignas(64) std::atomic<uint32_t> cpus_of_crowd;
  // A thread was queued for a CPU some time before this.
  std::atomic<uint64_t> crowded_until_ns;
  CpuTable cpus;
  WakeTable wakes;
};

inline bool MayBeCrowded(const GlobalLedger& global) {
  return global.cpus_of_crowd.load(std::memory_order_relaxed) != 0;
}

// Whether a thread that owes so little goes on: to hold its CPU costs some microseconds besides.
inline constexpr uint64_t kLeastHeldNs = 30'000;
inline bool IsCarriedOn(const GlobalLedger& global, uint64_t owed_ns) {
  return owed_ns < kLeastHeldNs && MayBeCrowded(global);
}

// Whether threads are queued for CPUs in these moments.
inline bool IsCrowded(const GlobalLedger& global, uint64_t now_ns) {
  return MayBeCrowded(global) && now_ns < global.crowded_until_ns.load(std::memory_order_relaxed);
}

// Of use in the process of the thread only.
struct ThreadStart {
  void* routine;  // POSIX's or C11's
  void* argument;
  uint64_t stack_bytes;
  uint64_t inherited_local_delay_ns;
  uint64_t created_ns;  // 0 where no thread is queued for a CPU
};

// What a thread waits for: nothing; another thread, which may bring credit; the clock alone, after
// which it pays.
inline constexpr uint32_t kNotBlocked = 0;
inline constexpr uint32_t kBlockedByThread = 1;
inline constexpr uint32_t kBlockedByClock = 2;

// How a thread pauses: not at all; it sleeps; it spins and so keeps its CPU.
inline constexpr uint32_t kNotPausing = 0;
inline constexpr uint32_t kSleepsToPay = 1;
inline constexpr uint32_t kHoldsCpuToPay = 2;

struct ThreadLedger {
  std::atomic<uint64_t> local_delay_ns;
  std::atomic<uint64_t> imposed_ns;   // by this thread's samples, on the others
  std::atomic<uint64_t> asked_ns;     // what pauses were meant to last
  std::atomic<uint64_t> paused_ns;    // slept, as measured
  std::atomic<uint64_t> credited_ns;  // local delay raised by wakers
  std::atomic<uint64_t> forgiven_ns;
  std::atomic<uint64_t> pauses;
  std::atomic<uint64_t> pause_cpu_ns;  // CPU time that pauses took: to fall asleep and to wake up
  // What it waits for, if it does.
  std::atomic<uint32_t> blocked;
  std::atomic<uint32_t> pausing;  // whether it pauses to pay, and how
  SpinShare spinning;
  CpuShare cpu_share;
  Stretches stretches;
  // What a thread that is about to be created will run: for the thread itself, from its creator.
  ThreadStart start;
};

inline bool Waits(const ThreadLedger& thread) {
  return thread.blocked.load(std::memory_order_relaxed) != kNotBlocked;
}

// True where the thread has slept too long and not made up for it.
inline bool HasExcess(const GlobalLedger& global, const ThreadLedger& thread) {
  return thread.local_delay_ns.load(std::memory_order_relaxed) >
         global.global_delay_ns.load(std::memory_order_relaxed);
}

// The state of a thread when it began to wait.
struct Wait {
  uint64_t start_ns;
  // Local delay less what the thread has imposed itself, modulo 2^64: what it imposes while it
  // waits comes on top of any credit.
  uint64_t served_ns;
  uint64_t imposed_ns;
  // How often the thread had given up its CPU, where it had excess that the wait may absorb; see
  // HasBlocked in thread_sync.h.
  uint64_t switches_plus_1 = 0;
};

// True where the thread owes delay. The only part of the ledger on the fast path of a wrapped call.
inline bool IsBehind(const GlobalLedger& global, const ThreadLedger& thread) {
  return thread.local_delay_ns.load(std::memory_order_relaxed) <
         global.global_delay_ns.load(std::memory_order_relaxed);
}

// True where it neither owes nor has excess.
inline bool IsLevel(const GlobalLedger& global, const ThreadLedger& thread) {
  return thread.local_delay_ns.load(std::memory_order_relaxed) ==
         global.global_delay_ns.load(std::memory_order_relaxed);
}

// `thread` gets ahead of every other thread by `delay_ns` of virtual time.
void ImposeDelay(GlobalLedger& global, ThreadLedger& thread, uint64_t delay_ns);

// What a waker publishes for whoever it wakes through `object`, and a wakee finds by
// `global.wakes.Find(object)`. A wakee assumes the global delay anyway, so only excess is news.
inline void PublishExcess(GlobalLedger& global, const ThreadLedger& waker, const void* object) {
  const uint64_t local_ns = waker.local_delay_ns.load(std::memory_order_relaxed);
  if (local_ns > global.global_delay_ns.load(std::memory_order_relaxed)) {
    global.wakes.Publish(object, local_ns);
  }
}

// Takes off what the thread does not owe, as it was queued for a CPU: before it pays, where
// MayBeCrowded. Returns for how long it was queued.
uint64_t LookAtCpu(GlobalLedger& global, ThreadLedger& thread, const CpuLook& look);

// Takes off what has grown while the thread was queued for so long, whatever it was queued after.
void CreditQueued(GlobalLedger& global, ThreadLedger& thread, uint64_t queued_ns);

// What the thread has to pause for now, after forgiving what is too old.
uint64_t OwedDelay(GlobalLedger& global, ThreadLedger& thread);

// The thread has paused for `slept_ns`, as measured, where `asked_ns` were owed. The rest is kept
// as excess and served first next time.
void RecordPause(ThreadLedger& thread, uint64_t asked_ns, uint64_t slept_ns);

// Begins a wait that another thread may end.
inline Wait BeginWait(ThreadLedger& thread, uint64_t now_ns) {
  thread.blocked.store(kBlockedByThread, std::memory_order_relaxed);
  if (thread.stretches.accrues()) thread.stretches.Stop(now_ns);
  uint64_t imposed_ns;
  uint64_t local_ns;
  do {  // again where a handler of this thread has imposed between the two loads
    imposed_ns = thread.imposed_ns.load(std::memory_order_relaxed);
    local_ns = thread.local_delay_ns.load(std::memory_order_relaxed);
  } while (imposed_ns != thread.imposed_ns.load(std::memory_order_relaxed));
  return {now_ns, local_ns - imposed_ns, imposed_ns, 0};
}

// Ends a wait that was ended by something else than a profiled thread: no credit.
inline void EndWaitUncredited(ThreadLedger& thread) {
  thread.blocked.store(0, std::memory_order_relaxed);
}

// Ends a wait that a profiled thread ended, whose local delay was `waker_local_delay_ns` (0 where
// unknown; a waker pays before it wakes, so at least the global delay is assumed).
//
// Where the wait was over before it began (`has_blocked` is false), the waker's time is not now but
// earlier, nobody knows how much. The thread then keeps its own, its excess with it.
void EndWaitCredited(GlobalLedger& global, ThreadLedger& thread, const Wait& wait, uint64_t now_ns,
                     uint64_t waker_local_delay_ns, bool has_blocked = true);

// The same where it is known exactly.
void EndWaitCreditedBy(ThreadLedger& thread, const Wait& wait, uint64_t now_ns,
                       uint64_t waker_local_delay_ns, bool has_blocked = true);

// `thread` goes on after what happened at `virtual_ns` of virtual time, maybe long ago, such as the
// end of a thread that it has joined. Where its own virtual time is earlier, it owes the
// difference.
void GoOnAfter(ThreadLedger& thread, uint64_t virtual_ns, uint64_t now_ns);

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_DELAY_LEDGER_H_
