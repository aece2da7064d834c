// What processes tell each other about the objects that they wait through. The wake table holds the
// rest.
//
// Shape    one for all processes, in the memory that they share; small hash tables in which the
//          newest entries stay. The two sockets of a new pair always find each other, even where
//          they share a place
// Units    inodes; keys as in io_object.h; ns of CLOCK_MONOTONIC
// Errors   where one entry pushes out another, a wait goes without its credit
// Threads  safe
// Signals  lock-free
// Source   none
#ifndef COZ_SYNC_DELAY_IO_TABLES_H_
#define COZ_SYNC_DELAY_IO_TABLES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coz::delay {

struct IoTables {
  // The two sockets of a socket pair, by inode. A place is given by a hash of the inode.
  static constexpr size_t kPairPlaces = 512;
  class PairPlace {
   public:
    // `inode` is a new socket. Where another socket of its pair is in the place, it stays there.
    void Note(uint64_t inode, uint64_t peer) {
      Pair& entry = pairs_[pairs_[0].inode.load(std::memory_order_relaxed) == peer ? 1 : 0];
      if (&entry == &pairs_[0]) CopyTo(pairs_[1], pairs_[0]);
      Store(entry, inode, peer);
    }

    // The peer of `inode`, or 0 where it is not known.
    uint64_t PeerOf(uint64_t inode) const {
      for (const Pair& entry : pairs_) {
        if (entry.inode.load(std::memory_order_acquire) != inode) continue;
        const uint64_t peer = entry.peer.load(std::memory_order_acquire);
        if (entry.inode.load(std::memory_order_relaxed) == inode) return peer;
      }
      return 0;
    }

   private:
    struct Pair {
      std::atomic<uint64_t> inode;  // 0: none
      std::atomic<uint64_t> peer;
    };

    static void Store(Pair& entry, uint64_t inode, uint64_t peer) {
      entry.inode.store(0, std::memory_order_relaxed);
      entry.peer.store(peer, std::memory_order_release);
      entry.inode.store(inode, std::memory_order_release);
    }
    static void CopyTo(Pair& entry, const Pair& from) {
      Store(entry, from.inode.load(std::memory_order_relaxed),
            from.peer.load(std::memory_order_relaxed));
    }

    Pair pairs_[2];
  };
  PairPlace pairs[kPairPlaces];

  // The epoll instances that watch a key, of which several may: workers share a socket on which
  // connections come in. Of more, the newest.
  class Watch {
   public:
    static constexpr size_t kWatchers = 7;

    void Note(uint64_t key, uint64_t watcher_key) {
      if (key_.load(std::memory_order_acquire) != key) Begin(key);
      for (std::atomic<uint64_t>& noted : watcher_keys_) {
        uint64_t none = 0;
        if (noted.load(std::memory_order_relaxed) == watcher_key ||
            noted.compare_exchange_strong(none, watcher_key, std::memory_order_relaxed)) {
          return;
        }
      }
      const uint64_t pushed_out = (watcher_key >> 1) % kWatchers;
      watcher_keys_[pushed_out].store(watcher_key, std::memory_order_relaxed);
    }

    // Calls `visit` with the key of each instance that watches `key`.
    template <typename Visit>
    void ForEachWatcher(uint64_t key, Visit visit) const {
      if (key_.load(std::memory_order_acquire) != key) return;
      for (const std::atomic<uint64_t>& noted : watcher_keys_) {
        const uint64_t watcher_key = noted.load(std::memory_order_relaxed);
        if (watcher_key == 0) return;
        visit(watcher_key);
      }
    }

   private:
    void Begin(uint64_t key) {
      key_.store(0, std::memory_order_relaxed);
      for (std::atomic<uint64_t>& noted : watcher_keys_) noted.store(0, std::memory_order_release);
      key_.store(key, std::memory_order_release);
    }

    std::atomic<uint64_t> key_;                      // 0: none
    std::atomic<uint64_t> watcher_keys_[kWatchers];  // the first ones; 0: none
  };
  // A server may have ten thousand connections.
  static constexpr size_t kWatches = 1 << 15;
  Watch watches[kWatches];
  Watch& WatchAt(uint64_t key) { return watches[(key >> 1) % kWatches]; }

  // The keys through which profiled threads have woken others, and when they last did. Kept only
  // where waits that the outside ends are units (outside_wait.h). Of two keys in one place it has
  // the newer one.
  static constexpr size_t kWakes = 1 << 15;
  struct Wake {
    std::atomic<uint64_t> key;
    std::atomic<uint64_t> last_ns;
  };
  Wake wakes[kWakes];
  void NoteWake(uint64_t key, uint64_t now_ns) {
    Wake& wake = wakes[(key >> 1) % kWakes];
    const bool is_known = wake.key.load(std::memory_order_relaxed) == key;
    if (!is_known) wake.key.store(0, std::memory_order_relaxed);
    wake.last_ns.store(now_ns, std::memory_order_release);
    if (!is_known) wake.key.store(key, std::memory_order_release);
  }
  // 0: never.
  uint64_t LastWakeNs(uint64_t key) const {
    const Wake& wake = wakes[(key >> 1) % kWakes];
    if (key == 0 || wake.key.load(std::memory_order_acquire) != key) return 0;
    const uint64_t last_ns = wake.last_ns.load(std::memory_order_acquire);
    return wake.key.load(std::memory_order_relaxed) == key ? last_ns : 0;
  }

  // Whether a process has made a FIFO, or has waited for one.
  std::atomic<uint32_t> has_fifos;

  // When a profiled thread last sent a signal to a process, by process number.
  static constexpr size_t kSignals = 1024;
  std::atomic<uint64_t> signal_sent_ns[kSignals];
  std::atomic<uint64_t>& SignalSentNs(int32_t pid) {
    return signal_sent_ns[static_cast<uint32_t>(pid) % kSignals];
  }
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_IO_TABLES_H_
