// The delay ledger: which thread has served how much of the delay that virtual speedups require of
// all threads.
//
// Every thread has a virtual time, `real time − local delay`. A sample in the selected unit raises
// the global delay and the sampled thread's own local delay by the same amount: its virtual time
// falls behind real time without a pause, while every other thread must pause until its local delay
// has reached the global one. Waking is the only way in which one thread's time reaches another, so
// a woken thread takes over the waker's virtual time unless its own is later:
//
//     virtual time after the wait = max(own virtual time at the start of the wait, waker's virtual
//     time at the wake)
//
// All rules here follow from that line: credit is never more than the time really spent blocked nor
// more than what the waker has served, a wait that did not block is credited nothing, and time
// slept too long is absorbed by a wait like any other delay.
//
// Shape    GlobalLedger: one per experiment, in memory that all profiled processes and the
// supervisor share.
//          ThreadLedger: one per thread, in the same memory; written by its thread, read by the
//          supervisor.
// Units    ns of CLOCK_MONOTONIC; all counters are cumulative and never reset
// Errors   none
// Threads  GlobalLedger: safe. ThreadLedger: owner writes, anybody reads
// Signals  every function is async-signal-safe, and safe against a handler of the same thread that
//          imposes or pays in its middle: nothing is lost, nothing counts twice
// Source   Curtsinger and Berger, SOSP 2015, section 3.4; the virtual-time form is ours
//          (docs/design.md)
#ifndef COZ_SYNC_DELAY_DELAY_LEDGER_H_
#define COZ_SYNC_DELAY_DELAY_LEDGER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "coz/sync/delay/stretches.h"

namespace coz::delay {

// Local delays of recent wakers by the object they woke through, so that a woken thread takes over its own waker's excess and not an
// average. Of three objects that share a place, the one that was left longest ago is forgotten: its wakee gets nothing.
class WakeTable {
 public:
  static constexpr size_t kPlaces = 2048;

  void Publish(const void* object, uint64_t waker_local_delay_ns) {
    const uint64_t key = KeyOf(object);
    Place& place = PlaceOf(key);
    Entry* entry = &place.entries[0];
    for (Entry& other : place.entries) {
      if (other.key.load(std::memory_order_relaxed) == key) {
        other.local_delay_ns.store(waker_local_delay_ns, std::memory_order_relaxed);
        return;
      }
      if (other.local_delay_ns.load(std::memory_order_relaxed) <
          entry->local_delay_ns.load(std::memory_order_relaxed)) {
        entry = &other;
      }
    }
    // Who looks for the forgotten object must not find this value. Two threads that take the same entry at the same moment may mix
    // theirs, which costs a wakee the difference, once.
    entry->key.store(0, std::memory_order_relaxed);
    entry->local_delay_ns.store(waker_local_delay_ns, std::memory_order_release);
    entry->key.store(key, std::memory_order_release);
  }

  // 0 where nobody has left any.
  uint64_t Find(const void* object) const {
    const uint64_t key = KeyOf(object);
    for (const Entry& entry : PlaceOf(key).entries) {
      if (entry.key.load(std::memory_order_acquire) != key) continue;
      const uint64_t local_ns = entry.local_delay_ns.load(std::memory_order_acquire);
      if (entry.key.load(std::memory_order_relaxed) == key) return local_ns;
    }
    return 0;
  }

 private:
  struct Entry {
    std::atomic<uint64_t> key;  // 0: none
    std::atomic<uint64_t> local_delay_ns;
  };
  struct alignas(2 * sizeof(Entry)) Place {
    Entry entries[2];
  };

  static uint64_t KeyOf(const void* object) {
    return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(object));
  }
  const Place& PlaceOf(uint64_t key) const {
    // Fibonacci hashing; objects are at least 4-byte aligned, other keys are hashes themselves.
    return places_[((key >> 2) * 0x9E3779B97F4A7C15u) >> (64 - 11)];
  }
  Place& PlaceOf(uint64_t key) { return const_cast<Place&>(std::as_const(*this).PlaceOf(key)); }

  Place places_[kPlaces];
  static_assert(kPlaces == size_t{1} << 11, "PlaceOf() takes 11 bits of the hash");
};

struct GlobalLedger {
  // What is required of every thread. Raised by samples in the selected unit.
  alignas(64) std::atomic<uint64_t> global_delay_ns;
  // Debts older than this are not collected: a thread that waited in an uninterposed call for a
  // minute does not pause for what was inserted in all that time, but at most for the current and
  // the previous experiment. Written by the supervisor.
  std::atomic<uint64_t> forgiven_below_ns;
  // The highest local delay that a thread has left for those whom it wakes through a descriptor: above the global delay only where
  // that was one with excess, a moment ago.
  std::atomic<uint64_t> highest_told_ns;
  // What is sped up at this moment, and by how much; 0: nothing. Here it only matters whether it is still the same: what is left of one
  // experiment's stretches is no part of the next. Written by the supervisor.
  std::atomic<uint64_t> selection;
  alignas(64) WakeTable wakes;
};

// Of use in the process of the thread only.
struct ThreadStart {
  void* routine;  // POSIX's or C11's
  void* argument;
  uint64_t stack_bytes;
  uint64_t inherited_local_delay_ns;
};

// Nothing; another thread, by which what it owes may be credited; the clock alone, after which it pays.
inline constexpr uint32_t kNotBlocked = 0;
inline constexpr uint32_t kBlockedByThread = 1;
inline constexpr uint32_t kBlockedByClock = 2;

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
  std::atomic<uint32_t> pausing;  // 1 while it sleeps to pay
  // How much of its time it has spun of late, in kWholeSpinShare: see NoteSpinning. The owner's only.
  uint32_t spin_share;
  uint32_t looks_left;
  // For delay that is imposed by stretches; see ImposeSample.
  Stretches stretches;
  // What a thread that is about to be created will run: for the thread itself, from its creator.
  ThreadStart start;
};

inline bool Waits(const ThreadLedger& thread) {
  return thread.blocked.load(std::memory_order_relaxed) != kNotBlocked;
}

// True where the thread has slept too long and not made up for it.
inline bool IsAhead(const GlobalLedger& global, const ThreadLedger& thread) {
  return thread.local_delay_ns.load(std::memory_order_relaxed) >
         global.global_delay_ns.load(std::memory_order_relaxed);
}

// The state of a thread when it began to wait.
struct Wait {
  uint64_t start_ns;
  // Local delay less what the thread has imposed itself, modulo 2^64: what it imposes while it waits
  // comes on top of any credit.
  uint64_t served_ns;
  uint64_t imposed_ns;
  // How often the thread had given up its CPU, where it had excess that the wait may absorb; see HasBlocked in thread_sync.h.
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

// A sample of `thread` fell in the selected unit: it gets ahead of every other thread by `delay_ns` of virtual time.
void ImposeDelay(GlobalLedger& global, ThreadLedger& thread, uint64_t delay_ns);

// A sample of `thread` while there is a selection, for which kinds of stretches are counted. One of a wait that spins, or copies what it has
// waited for, is of no kind: a stretch is the time between waits.
void CountSample(ThreadLedger& thread, SampledUnit sampled, uint32_t selected_unit);

// A sample of `thread` that fell in the selected unit or in the given one, after it was counted. It stands for `period_ns` of the thread's
// running time and imposes `delay_ns`: at once where the thread waits.
//
// Would that be imposed at once, the stretch that the sample fell in got more than there was to shorten in it, and others
// nothing: wherever the longer of two things is waited for, or a lock is held, the mean of that is not what a faster line would bring. So it
// is imposed by stretches where they are of a kind that is nearly always in the unit, or short. Elsewhere a sample knows better than its kind
// where the thread is (docs/design.md has the errors of both).
struct SampleDelay {
  SampledUnit unit;
  uint64_t delay_ns;
  uint64_t period_ns;
  uint64_t deadline_ns;  // the end of the experiment
  uint64_t selection;    // as the ledger had it when `delay_ns` was read; not 0
};
void ImposeSample(GlobalLedger& global, ThreadLedger& thread, const SampleDelay& sample,
                  uint64_t now_ns);

// A thread that spins on memory waits, and no call tells from when until when, nor for whom. Samples tell how much of its time it spins.
// As much of what it owes is credited, as if by wakers who have paid: at best the prediction is that of a wait, and where a waker pays
// only after it has written, the spinning thread is early by that once.
constexpr uint32_t kWholeSpinShare = 1 << 16;

// A look at `thread`, which is in no wrapped wait, has found it spinning or not. Looks are to be taken at random times, exponentially
// distributed: regular samples keep step with rounds that take as long, the more so as what is paid at them moves the
// rounds, and then they find the thread spinning always, or never.
void NoteSpinning(ThreadLedger& thread, bool spins);

// For whoever takes such looks: the first is due when a sample has found the thread spinning, which is no look itself, and others until so many
// in a row have not.
constexpr uint32_t kLooksInVain = 128;
// The mean time between them, in sampling periods: a look costs what a sample does.
constexpr uint64_t kPeriodsBetweenLooks = 4;
inline void BeginLooks(ThreadLedger& thread) { thread.looks_left = kLooksInVain; }

// As NoteSpinning. Whether to look again.
bool NoteLook(ThreadLedger& thread, bool spins);

// Credits what it owes for the share that it has spun of the `ran_ns` that the sample stands for.
void CreditSpinning(GlobalLedger& global, ThreadLedger& thread, uint64_t ran_ns);

inline bool HoldsDelay(const ThreadLedger& thread) {
  return thread.stretches.selection.load(std::memory_order_relaxed) != 0;
}

// Imposes what the thread's running time until now stands for: at each sample, and before it pays, wakes or waits. Less than
// kLeastReleaseNs is kept, as every release costs the other threads a pause.
inline constexpr uint64_t kLeastReleaseNs = 10 * 1000;
void ReleaseHeldDelay(GlobalLedger& global, ThreadLedger& thread, uint64_t now_ns);

// Imposes all of it: at the thread's end.
void ReleaseAllHeldDelay(GlobalLedger& global, ThreadLedger& thread, uint64_t now_ns);

// A call of the program ends a stretch, of a thread that holds delay. The next one is of the kind `site`.
void EndStretch(GlobalLedger& global, ThreadLedger& thread, const void* site, uint64_t now_ns);

// Whether the next call ends a stretch; of calls in quick succession few do.
inline bool CallEndsStretch(ThreadLedger& thread) {
  return (++thread.stretches.calls & thread.stretches.skipped_calls) == 0;
}

// The thread has not run until now: it has waited or paused.
inline void ResumeHold(ThreadLedger& thread, uint64_t now_ns) { thread.stretches.Resume(now_ns); }

// The local delay of a thread with what the stretch in progress stands for so far, which it imposes when that ends; 0 where that is nothing.
// For any thread to ask.
inline constexpr uint64_t kMostAccruedNs = 4 * 1000 * 1000;
uint64_t LocalDelayAt(const GlobalLedger& global, const ThreadLedger& thread, uint64_t now_ns);

// What the thread has to pause for now, after forgiving what is too old.
uint64_t OwedDelay(GlobalLedger& global, ThreadLedger& thread);

// The thread has paused for `slept_ns`, as measured, where `asked_ns` were owed. The rest is kept as
// excess and served first next time.
void RecordPause(ThreadLedger& thread, uint64_t asked_ns, uint64_t slept_ns);

// Begins a wait that another thread may end.
inline Wait BeginWait(ThreadLedger& thread, uint64_t now_ns) {
  thread.blocked.store(kBlockedByThread, std::memory_order_relaxed);
  if (HoldsDelay(thread)) thread.stretches.Stop(now_ns);
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
// Where the wait was over before it began (`has_blocked` is false), the waker's time is not now but earlier, nobody knows how much, and
// the thread keeps its own, its excess with it.
void EndWaitCredited(GlobalLedger& global, ThreadLedger& thread, const Wait& wait, uint64_t now_ns,
                     uint64_t waker_local_delay_ns, bool has_blocked = true);

// The same where it is known exactly.
void EndWaitCreditedBy(ThreadLedger& thread, const Wait& wait, uint64_t now_ns,
                       uint64_t waker_local_delay_ns, bool has_blocked = true);

// `thread` goes on after what happened at `virtual_ns` of virtual time, maybe long ago, such as the end of a thread that it has joined.
// Where it is ahead of that it falls back, and pays the difference.
void GoOnAfter(ThreadLedger& thread, uint64_t virtual_ns, uint64_t now_ns);

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_DELAY_LEDGER_H_
