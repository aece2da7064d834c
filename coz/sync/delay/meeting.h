// Meetings: where a thread goes on only after what another thread has done, though it did not wait
// for it in real time.
//
// A thread imposes delay at the end of a stretch. So of two threads that meet, the one that comes
// last in real time may come first in virtual time. It finds the other there already, does not
// block, and no wait gives it the other's time. Hence each thread leaves the virtual time at which
// it came, and whoever goes on, goes on from the latest (GoOnAfter).
//
// A barrier is such a meeting. So is a mutex that the program uses with a condition, for a thread
// that has waited with it lately: it protects a state that the thread waits for, such as a count of
// unfinished tasks. For a thread that never waits there it is only a lock: who puts items into a
// queue that is never full does not depend on who takes them out. Nor does whoever takes a mutex
// without a condition depend on who had it before.
//
// Each post of a semaphore lets one thread go on. So whoever takes its last post depends on who has
// made that. Of several that are left the first is taken, which was made earlier.
//
// Shape    LatestTime: one moment. ReleaseTable, BarrierTable: one per process, found by the
//          address of the object. All zero at first
// Units    ns of virtual time: CLOCK_MONOTONIC less a thread's local delay
// Errors   an object whose place another one has taken is forgotten. Its meetings pass no time
//          until it is added again
// Threads  safe, but for BarrierTable::Add: the barrier must not be in use
// Signals  async-signal-safe
// Source   docs/design/waits-and-credit.md, "Meetings"
#ifndef COZ_SYNC_DELAY_MEETING_H_
#define COZ_SYNC_DELAY_MEETING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "coz/sync/delay/delay_ledger.h"
#include "coz/sync/delay/waited_monitors.h"

namespace coz::delay {

inline uint64_t VirtualTimeAt(const ThreadLedger& thread, uint64_t now_ns) {
  return now_ns - thread.local_delay_ns.load(std::memory_order_relaxed);
}

// Time passes at meetings only while delay is imposed. In a crowd threads do not go on in the order
// of virtual time, but when they get a CPU, so there it does not.
inline bool TimePassesAtMeetings(const GlobalLedger& global) {
  return global.selection.load(std::memory_order_relaxed) != 0 && !MayBeCrowded(global);
}

// The latest of several moments. It is never set back: whoever comes to a later meeting comes at a
// later time.
class LatestTime {
 public:
  void Note(uint64_t virtual_ns) {
    uint64_t latest_ns = ns_.load(std::memory_order_relaxed);
    while (latest_ns < virtual_ns &&
           !ns_.compare_exchange_weak(latest_ns, virtual_ns, std::memory_order_relaxed)) {
    }
  }
  void Forget() { ns_.store(0, std::memory_order_relaxed); }
  // 0: none.
  uint64_t ns() const { return ns_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> ns_;
};

// The thread goes on no earlier than that.
inline void GoOnAfterLatest(const GlobalLedger& global, ThreadLedger& thread,
                            const LatestTime& latest, uint64_t now_ns) {
  if (latest.ns() != 0) GoOnAfter(global, thread, latest.ns(), now_ns);
}

// A place of a table, by the address of an object. Objects are at least 4-byte aligned.
template <int kBits>
inline size_t PlaceOfObject(uint64_t key) {
  return ((key >> 2) * 0x9E3779B97F4A7C15u) >> (64 - kBits);  // Fibonacci hashing
}
inline uint64_t KeyOfObject(const void* object) {
  return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(object));
}

// Objects, and when each was released last: mutexes that the program uses with a condition, or
// semaphores.
class ReleaseTable {
 public:
  // Returns the last release of `object`, which the table has from now on.
  LatestTime& Add(const void* object) {
    Place& place = PlaceOf(object);
    const uint64_t key = KeyOfObject(object);
    if (place.key.load(std::memory_order_acquire) != key) {
      place.key.store(0, std::memory_order_relaxed);
      place.released.Forget();
      place.key.store(key, std::memory_order_release);
    }
    return place.released;
  }
  // Null where the table does not have `object`.
  LatestTime* Find(const void* object) {
    Place& place = PlaceOf(object);
    return place.key.load(std::memory_order_acquire) == KeyOfObject(object) ? &place.released
                                                                            : nullptr;
  }

 private:
  static constexpr int kBits = 10;
  struct Place {
    std::atomic<uint64_t> key;  // 0: none
    LatestTime released;
  };

  Place& PlaceOf(const void* object) { return places_[PlaceOfObject<kBits>(KeyOfObject(object))]; }

  Place places_[size_t{1} << kBits];
};

// Barriers, how many threads they wait for, and the arrivals of the round in progress.
class BarrierTable {
 public:
  // A barrier for so many threads. 0: it is no barrier any more.
  void Add(const void* barrier, uint32_t threads) {
    Place& place = PlaceOf(barrier);
    const uint64_t key = KeyOfObject(barrier);
    if (threads == 0 && place.key.load(std::memory_order_relaxed) != key) return;
    place.key.store(0, std::memory_order_relaxed);
    place.threads.store(threads, std::memory_order_relaxed);
    place.arrivals.store(0, std::memory_order_relaxed);
    for (LatestTime& latest : place.latest) latest.Forget();
    if (threads != 0) place.key.store(key, std::memory_order_release);
  }
  // A thread comes at `virtual_ns`. Returns the latest arrival of its round, for it to read when it
  // goes on; null where the barrier is not known. By turns: nobody comes to the round after the
  // next before all have left this one.
  const LatestTime* Arrive(const void* barrier, uint64_t virtual_ns) {
    Place& place = PlaceOf(barrier);
    if (place.key.load(std::memory_order_acquire) != KeyOfObject(barrier)) return nullptr;
    const uint32_t threads = place.threads.load(std::memory_order_relaxed);
    if (threads == 0) return nullptr;
    const uint64_t arrival = place.arrivals.fetch_add(1, std::memory_order_relaxed);
    LatestTime& latest = place.latest[arrival / threads % 2];
    latest.Note(virtual_ns);
    return &latest;
  }

 private:
  static constexpr int kBits = 7;
  struct Place {
    std::atomic<uint64_t> key;  // 0: none
    std::atomic<uint32_t> threads;
    std::atomic<uint64_t> arrivals;
    LatestTime latest[2];
  };

  Place& PlaceOf(const void* barrier) {
    return places_[PlaceOfObject<kBits>(KeyOfObject(barrier))];
  }

  Place places_[size_t{1} << kBits];
};

// `thread` is about to release `mutex`. `now` reads the clock.
template <typename Clock>
void NoteRelease(const GlobalLedger& global, ReleaseTable& monitors, const ThreadLedger& thread,
                 const void* mutex, Clock now) {
  LatestTime* released = monitors.Find(mutex);
  if (released == nullptr || !TimePassesAtMeetings(global)) return;
  released->Note(VirtualTimeAt(thread, now()));
}

// `thread` has imposed what has accrued, and is about to take `mutex`. `waited` is its own.
template <typename Clock>
void GoOnAfterRelease(const GlobalLedger& global, ReleaseTable& monitors,
                      const WaitedMonitors& waited, ThreadLedger& thread, const void* mutex,
                      Clock now) {
  const LatestTime* released = monitors.Find(mutex);
  if (released == nullptr || !TimePassesAtMeetings(global)) return;
  const uint64_t now_ns = now();
  const uint64_t selection = global.selection.load(std::memory_order_relaxed);
  if (!waited.HasWaited(mutex, selection, now_ns)) return;
  GoOnAfterLatest(global, thread, *released, now_ns);
}

// `thread` has paid, and is about to post `semaphore`.
template <typename Clock>
void NotePost(const GlobalLedger& global, ReleaseTable& semaphores, const ThreadLedger& thread,
              const void* semaphore, Clock now) {
  if (!TimePassesAtMeetings(global)) return;
  semaphores.Add(semaphore).Note(VirtualTimeAt(thread, now()));
}

// `thread` has taken the last post of `semaphore` that was left, without a wait.
template <typename Clock>
void GoOnAfterPost(const GlobalLedger& global, ReleaseTable& semaphores, ThreadLedger& thread,
                   const void* semaphore, Clock now) {
  const LatestTime* posted = semaphores.Find(semaphore);
  if (posted == nullptr || !TimePassesAtMeetings(global)) return;
  GoOnAfterLatest(global, thread, *posted, now());
}

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_MEETING_H_
