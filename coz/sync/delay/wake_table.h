// Where a waker leaves its local delay for the threads that it wakes.
//
// Shape    WakeTable: one for all processes, in the memory that they share; zero is empty. The key
//          of an entry is the object that the wake goes through (a mutex, a pipe, a thread that
//          ends). A place holds two objects. A third one replaces the entry with the lower delay
// Units    ns of delay
// Errors   where an object's entry was replaced, its wakee does not get the waker's excess
// Threads  safe. If two threads take the same entry at the same moment, their values may mix. A
//          wakee is then wrong by the difference, once
// Signals  async-signal-safe
// Source   docs/design/waits-and-credit.md
#ifndef COZ_SYNC_DELAY_WAKE_TABLE_H_
#define COZ_SYNC_DELAY_WAKE_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace coz::delay {

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
    // The key becomes 0 first, so that a thread that looks for the replaced object does not find
    // the new value.
    entry->key.store(0, std::memory_order_relaxed);
    entry->local_delay_ns.store(waker_local_delay_ns, std::memory_order_release);
    entry->key.store(key, std::memory_order_release);
  }

  // The local delay that a waker has left for `object`, or 0 where none has.
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
    // Fibonacci hashing. Objects are aligned to at least 4 bytes. Other keys are hashes already.
    return places_[((key >> 2) * 0x9E3779B97F4A7C15u) >> (64 - 11)];
  }
  Place& PlaceOf(uint64_t key) { return const_cast<Place&>(std::as_const(*this).PlaceOf(key)); }

  Place places_[kPlaces];
  static_assert(kPlaces == size_t{1} << 11, "PlaceOf() takes 11 bits of the hash");
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_WAKE_TABLE_H_
