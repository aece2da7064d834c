// The delay ledger: which thread has served how much of the delay that virtual speedups require of
// all threads.
//
// Every thread has a virtual time: real time less its local delay. A sample in the selected unit
// raises the sampled thread's local delay. It also raises the global delay where that falls behind.
// So the virtual time of the sampled thread falls behind real time without a pause. Every other
// thread pauses until its local delay has reached the global delay. A wake is the only way in which
// one thread's time reaches another. So a woken thread takes over the waker's virtual time, unless
// its own is later:
//
//     virtual time after the wait = max(own virtual time at the start of the wait, waker's virtual
//     time at the wake)
//
// All rules here follow from that line. Credit is never more than the time that the thread was
// blocked, and never more than what the waker has served. A wait that did not block brings no
// credit. A wait absorbs *excess*, the time that a thread has slept too long, like any other delay.
//
// Shape    GlobalLedger: one per run, in memory that all profiled processes and the supervisor
//          share. ThreadLedger: one per thread, in the same memory; its thread writes it, and the
//          supervisor reads it
// Units    ns of CLOCK_MONOTONIC; all counters are cumulative and never reset
// Errors   none
// Threads  GlobalLedger: safe. ThreadLedger: the owner writes, any thread reads
// Signals  every function is async-signal-safe. A handler of the same thread may impose or pay in
//          the middle of any function: nothing is lost, and nothing counts twice
// Source   Curtsinger and Berger, SOSP 2015, section 3.4; the virtual-time form is ours
//          (docs/design/delays.md)
#ifndef COZ_SYNC_DELAY_DELAY_LEDGER_H_
#define COZ_SYNC_DELAY_DELAY_LEDGER_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "coz/sync/delay/call_pace.h"
#include "coz/sync/delay/cpu_share.h"
#include "coz/sync/delay/cpu_table.h"
#include "coz/sync/delay/spin_share.h"
#include "coz/sync/delay/stretches.h"
#include "coz/sync/delay/wake_table.h"

namespace coz::delay {

struct GlobalLedger {
  // What is required of every thread. Samples in the selected unit raise it.
  alignas(64) std::atomic<uint64_t> global_delay_ns;
  // A local delay below this is raised to it: older debts are not collected. A thread may wait for
  // a minute in a call that is not wrapped. It then pauses at most for the current and the previous
  // experiment, not for all that was inserted in that minute. Written by the supervisor.
  std::atomic<uint64_t> forgiven_below_ns;
  // The highest local delay that a thread with excess has published for threads that it wakes
  // through a descriptor. It is above the global delay only where that was a moment ago.
  std::atomic<uint64_t> highest_published_ns;
  // What is sped up at this moment, and by how much; 0: nothing. The functions here only compare it
  // with an earlier value: what is left of one experiment is no part of the next. Written by the
  // supervisor.
  std::atomic<uint64_t> selection;
  // In a crowd the number of CPUs, else 0. Written by the supervisor.
  alignas(64) std::atomic<uint32_t> cpus_of_crowd;
  // Whether programs that hardly wait use the target's CPUs, too. Pauses then hold their CPUs: the
  // kernel would make up for a sleep. Written by the supervisor.
  std::atomic<uint32_t> cpus_are_shared;
  // Not 0 in a control: whoever imposes delay owes it, too, so nobody gets ahead. Written by the
  // supervisor.
  std::atomic<uint32_t> delays_everybody;
  // Until when the last thread that was found queued for a CPU makes pauses hold their CPUs. On a
  // line of its own: in a crowd it is written often, and each call reads the first two above.
  alignas(64) std::atomic<uint64_t> crowded_until_ns;
  CpuTable cpus;
  WakeTable wakes;
};

inline bool MayBeCrowded(const GlobalLedger& global) {
  return global.cpus_of_crowd.load(std::memory_order_relaxed) != 0;
}

// Whether threads are queued for CPUs at about this time.
inline bool IsCrowded(const GlobalLedger& global, uint64_t now_ns) {
  return MayBeCrowded(global) && now_ns < global.crowded_until_ns.load(std::memory_order_relaxed);
}

// The pointers are valid only in the thread's own process.
struct ThreadStart {
  void* routine;  // POSIX's or C11's
  void* argument;
  uint64_t stack_bytes;
  uint64_t inherited_local_delay_ns;
  uint64_t created_ns;  // 0 where threads are not queued for CPUs
};

// What a thread waits for: nothing; another thread, which may bring credit; only the clock, after
// which the thread pays; or, in output, for room, which there nearly always is. So the time in
// output belongs to a stretch.
inline constexpr uint32_t kNotBlocked = 0;
inline constexpr uint32_t kBlockedByThread = 1;
inline constexpr uint32_t kBlockedByClock = 2;
inline constexpr uint32_t kInOutput = 3;

// Whether a thread pauses to pay. Most pauses stand for work. Behind a sleep, a time-out or input a
// pause makes the wait longer, in which the thread needs no CPU.
inline constexpr uint32_t kNotPausing = 0;
inline constexpr uint32_t kPausing = 1;
inline constexpr uint32_t kWaitingOn = 2;

struct ThreadLedger {
  std::atomic<uint64_t> local_delay_ns;
  std::atomic<uint64_t> imposed_ns;   // by this thread's samples, on the others
  std::atomic<uint64_t> asked_ns;     // how long pauses were meant to last
  std::atomic<uint64_t> paused_ns;    // how long pauses lasted, as measured
  std::atomic<uint64_t> credited_ns;  // by how much credit raised the local delay
  std::atomic<uint64_t> forgiven_ns;
  std::atomic<uint64_t> pauses;
  std::atomic<uint64_t> pause_cpu_ns;  // CPU time that pauses took: to fall asleep and to wake up
  std::atomic<uint32_t> blocked;       // what it waits for: a kBlockedBy… constant or kNotBlocked
  std::atomic<uint32_t> pausing;       // kPausing, kWaitingOn or kNotPausing
  // Not 0, and no other thread has it, in whatever process. Addresses do not tell threads apart: a
  // process that was forked has ledgers of its own where its parent's lay.
  std::atomic<uint32_t> number;
  SpinShare spinning;
  CpuShare cpu_share;
  Stretches stretches;
  CallPace releases;  // of which few are noted (meeting.h)
  // What a new thread is to run. The creator writes it for the new thread.
  ThreadStart start;
};

inline bool Waits(const ThreadLedger& thread) {
  return thread.blocked.load(std::memory_order_relaxed) != kNotBlocked;
}

// Whether the thread is in no stretch: it waits, and does not put out.
inline bool IsOutsideStretches(const ThreadLedger& thread) {
  const uint32_t blocked = thread.blocked.load(std::memory_order_relaxed);
  return blocked != kNotBlocked && blocked != kInOutput;
}

// True where the thread has slept too long and has not made up for it yet.
inline bool HasExcess(const GlobalLedger& global, const ThreadLedger& thread) {
  return thread.local_delay_ns.load(std::memory_order_relaxed) >
         global.global_delay_ns.load(std::memory_order_relaxed);
}

// The state of a thread when it began to wait.
struct Wait {
  uint64_t start_ns;
  // The local delay less what the thread has imposed itself, modulo 2^64. Delay that the thread
  // imposes while it waits comes on top of any credit.
  uint64_t served_ns;
  uint64_t imposed_ns;
  // How often the thread had given up its CPU, plus 1. Set only where the thread had excess that
  // the wait may absorb; else 0. See HasBlocked in thread_sync.h.
  uint64_t switches_plus_1 = 0;
  // What it owed when it left its CPU in a crowd.
  uint64_t left_ns = 0;
};

// True where the thread owes delay. This is all of the ledger on the fast path of a wrapped call.
inline bool IsBehind(const GlobalLedger& global, const ThreadLedger& thread) {
  return thread.local_delay_ns.load(std::memory_order_relaxed) <
         global.global_delay_ns.load(std::memory_order_relaxed);
}

inline uint32_t NumberOf(const ThreadLedger& thread) {
  return thread.number.load(std::memory_order_relaxed);
}

// True where the thread neither owes delay nor has excess.
inline bool IsLevel(const GlobalLedger& global, const ThreadLedger& thread) {
  return thread.local_delay_ns.load(std::memory_order_relaxed) ==
         global.global_delay_ns.load(std::memory_order_relaxed);
}

// How a pause passes: in the way that is best, or asleep.
enum class PauseBy { kWhatIsBest, kSleep };

// Whether a thread that owes `owed_ns` goes on without a pause and pays later. A pause that holds
// its CPU costs some microseconds of its own, and one asleep lasts some 60 us too long. So in a
// crowd small debts wait. Where threads on several CPUs run the selected unit, each imposes a whole
// sample's delay at a time, and at other times than the others. What one of them owes its own next
// sample may cancel. So it waits, too.
inline constexpr uint64_t kLeastHeldNs = 30'000;
inline constexpr uint64_t kLeastSleptNs = 100'000;
inline uint64_t LeastPausedNs(const ThreadLedger& thread, PauseBy by) {
  if (by == PauseBy::kSleep) return kLeastSleptNs;
  if (!thread.stretches.accrues()) return kLeastHeldNs;
  return std::max(kLeastHeldNs, thread.stretches.selected_delay_ns());
}
inline bool IsCarriedOn(const GlobalLedger& global, const ThreadLedger& thread, uint64_t owed_ns,
                        PauseBy by) {
  return MayBeCrowded(global) && owed_ns < LeastPausedNs(thread, by);
}

// Whether the thread owes more than it carries on.
inline bool OwesPause(const GlobalLedger& global, const ThreadLedger& thread,
                      PauseBy by = PauseBy::kWhatIsBest) {
  const uint64_t local_ns = thread.local_delay_ns.load(std::memory_order_relaxed);
  const uint64_t global_ns = global.global_delay_ns.load(std::memory_order_relaxed);
  return local_ns < global_ns && !IsCarriedOn(global, thread, global_ns - local_ns, by);
}

inline bool DelaysEverybody(const GlobalLedger& global) {
  return global.delays_everybody.load(std::memory_order_relaxed) != 0;
}

// Gets `thread` ahead of every other thread by `delay_ns` of virtual time; in a control, makes it
// owe that, too. A delay of a day or more is none: a clock has gone back, and all threads would
// sleep for that long.
void ImposeDelay(GlobalLedger& global, ThreadLedger& thread, uint64_t delay_ns);

// The local delay that `waker` leaves for threads that it wakes. In a crowd what it owes is its
// CPU's debt, and none of theirs.
inline uint64_t LocalDelayForWakees(const GlobalLedger& global, const ThreadLedger& waker) {
  const uint64_t local_ns = waker.local_delay_ns.load(std::memory_order_relaxed);
  if (!MayBeCrowded(global)) return local_ns;
  return std::max(local_ns, global.global_delay_ns.load(std::memory_order_relaxed));
}

// Publishes the waker's local delay for the threads that it wakes through `object`. A wakee finds
// it by `global.wakes.Find(object)`. A wakee assumes the global delay in any case, so only excess
// needs to be published.
inline void PublishExcess(GlobalLedger& global, const ThreadLedger& waker, const void* object) {
  const uint64_t local_ns = waker.local_delay_ns.load(std::memory_order_relaxed);
  if (local_ns > global.global_delay_ns.load(std::memory_order_relaxed)) {
    global.wakes.Publish(object, local_ns);
  }
}

// In a crowd what is owed is the CPU's debt (cpu_table.h). `thread` runs on `cpu`, and is about to
// look at what it owes or to change it. Where others have run there, it goes on from where they
// have left the CPU, and owes nothing else: it had none.
void GoOnHere(GlobalLedger& global, ThreadLedger& thread, uint32_t cpu, uint64_t now_ns);
// The same without a look at the clock, where the thread has noted itself on `cpu` and has not left
// it. Else this does nothing and returns false.
bool GoOnIfNotedHere(GlobalLedger& global, ThreadLedger& thread, uint32_t cpu);
inline bool MustGoOnHere(const GlobalLedger& global, const ThreadLedger& thread, uint32_t cpu) {
  return !global.cpus.IsNotedBy(cpu, NumberOf(thread)) || global.cpus.IsLeft(cpu) ||
         thread.cpu_share.stands_ns() != CpuShare::kNoStand;
}

// In a crowd, at the end of a wait: the thread has got `cpu`, for which it was queued for
// `queued_ns`. It goes on from there at GoOnFromCpu, or at the next GoOnHere.
void TakeCpu(GlobalLedger& global, ThreadLedger& thread, uint32_t cpu, uint64_t now_ns,
             uint64_t queued_ns);
// For a thread that was queued for its CPU behind a wake by another thread, whose credit it has. It
// owes what the CPU does, and nothing itself.
void GoOnFromCpu(GlobalLedger& global, ThreadLedger& thread);

// In a crowd, before a wait: the thread leaves its CPU to the next, with what the CPU owes. If
// another thread ends the wait, it owes nothing of that.
void LeaveCpu(GlobalLedger& global, ThreadLedger& thread, uint32_t cpu, uint64_t now_ns);
// The same before a pause in which the thread sleeps for the CPU's debt: it takes that along.
// Behind a wait it sleeps for its own, and the CPU's stays.
void LeaveCpuWithDebt(GlobalLedger& global, ThreadLedger& thread, uint32_t cpu, uint64_t now_ns);

// In a crowd: the thread has paid `ns` on its CPU.
inline void PayForCpu(GlobalLedger& global, const ThreadLedger& thread, uint64_t ns) {
  global.cpus.Add(thread.cpu_share.cpu(), NumberOf(thread), ns);
}

// Whether nobody has run on the thread's CPU since it has noted itself there.
inline bool HasKeptCpu(const GlobalLedger& global, const ThreadLedger& thread) {
  return global.cpus.IsNotedBy(thread.cpu_share.cpu(), NumberOf(thread));
}

// Takes a look at the time in the queue. The caller does this before the thread pays, where
// MayBeCrowded. Returns for how long the thread was queued since its last look, or 0 where that is
// too short to tell.
uint64_t LookAtQueue(GlobalLedger& global, ThreadLedger& thread, const CpuLook& look);

// Credits `most_ns`, up to what the thread owes, where it was queued, or has spun, for so long.
void CreditOwed(GlobalLedger& global, ThreadLedger& thread, uint64_t most_ns);

// How long the thread has to pause now. Debt that is too old is forgiven first.
uint64_t OwedDelay(GlobalLedger& global, ThreadLedger& thread);

// The thread owed `asked_ns` and has paused for `slept_ns`, as measured. What it has slept too long
// stays as excess and counts against its next debt.
void RecordPause(ThreadLedger& thread, uint64_t asked_ns, uint64_t slept_ns);

// Begins output, which nearly never waits. The thread goes on in its stretch.
inline Wait BeginOutput(ThreadLedger& thread, uint64_t now_ns) {
  thread.blocked.store(kInOutput, std::memory_order_relaxed);
  uint64_t imposed_ns;
  uint64_t local_ns;
  do {  // repeats where a handler of this thread has imposed between the two loads
    imposed_ns = thread.imposed_ns.load(std::memory_order_relaxed);
    local_ns = thread.local_delay_ns.load(std::memory_order_relaxed);
  } while (imposed_ns != thread.imposed_ns.load(std::memory_order_relaxed));
  return {now_ns, local_ns - imposed_ns, imposed_ns, 0, thread.cpu_share.TakeLeft()};
}

// Begins a wait that another thread may end.
inline Wait BeginWait(ThreadLedger& thread, uint64_t now_ns) {
  const Wait wait = BeginOutput(thread, now_ns);
  thread.blocked.store(kBlockedByThread, std::memory_order_relaxed);
  if (thread.stretches.accrues()) thread.stretches.Stop(now_ns);
  return wait;
}

// Ends a wait without credit: something other than a profiled thread ended it.
inline void EndWaitUncredited(ThreadLedger& thread) {
  thread.blocked.store(0, std::memory_order_relaxed);
}

// The same where there may be a crowd, after TakeCpu. What the thread owed before it owes
// afterwards, but for what its CPU still owes. It does not owe what was inserted while it could
// have gone on and had no CPU: the last CPU look found it queued for `queued_ns`.
void EndUncreditedWaitOfQueued(GlobalLedger& global, ThreadLedger& thread, const Wait& wait,
                               uint64_t now_ns, uint64_t queued_ns);

// Ends a wait that a profiled thread ended. `waker_local_delay_ns` is the waker's local delay, or 0
// where that is unknown. A waker pays before it wakes, so at least the global delay is assumed.
//
// Where `has_blocked` is false, the wait was over before it began. The waker's wake was then
// earlier, by an unknown time. So the thread keeps its own local delay, with its excess.
void EndWaitCredited(GlobalLedger& global, ThreadLedger& thread, const Wait& wait, uint64_t now_ns,
                     uint64_t waker_local_delay_ns, bool has_blocked = true);

// The same where the waker's local delay is known exactly.
void EndWaitCreditedBy(ThreadLedger& thread, const Wait& wait, uint64_t now_ns,
                       uint64_t waker_local_delay_ns, bool has_blocked = true);

// The same for a thread that the last CPU look found queued for `queued_ns`. At the end of the wait
// it had no CPU. So it does not owe what has grown since the waker's wake either.
void EndWaitOfQueued(GlobalLedger& global, ThreadLedger& thread, const Wait& wait, uint64_t now_ns,
                     uint64_t waker_local_delay_ns, uint64_t queued_ns);

// The credit for the queue alone. `wait` has ended, by a thread.
void CreditQueueAfter(GlobalLedger& global, ThreadLedger& thread, const Wait& wait, uint64_t now_ns,
                      uint64_t queued_ns);

// `thread` goes on after an event at `virtual_ns` of virtual time, such as the end of a thread that
// it has joined. The event may be long ago. If the thread's own virtual time is earlier, it owes
// the difference. Nothing in a crowd, where threads go on when they get a CPU.
void GoOnAfter(const GlobalLedger& global, ThreadLedger& thread, uint64_t virtual_ns,
               uint64_t now_ns);

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_DELAY_LEDGER_H_
