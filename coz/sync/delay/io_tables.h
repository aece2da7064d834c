// What processes tell each other about the objects that they wait through. The wake table holds the
// rest.
//
// Shape    one for all processes, in the memory that they share; small hash tables in which the
//          newest entry stays
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
  // The two sockets of a socket pair, by inode.
  static constexpr size_t kPairs = 1024;
  struct Pair {
    std::atomic<uint64_t> inode;
    std::atomic<uint64_t> peer;
  };
  Pair pairs[kPairs];

  // The keys that an epoll instance watches.
  static constexpr size_t kWatches = 4096;
  struct Watch {
    std::atomic<uint64_t> key;
    std::atomic<uint64_t> watcher_key;
  };
  Watch watches[kWatches];

  // When a profiled thread last sent a signal to a process, by process number.
  static constexpr size_t kSignals = 1024;
  std::atomic<uint64_t> signal_sent_ns[kSignals];
  std::atomic<uint64_t>& SignalSentNs(int32_t pid) {
    return signal_sent_ns[static_cast<uint32_t>(pid) % kSignals];
  }
};

}  // namespace coz::delay

#endif  // COZ_SYNC_DELAY_IO_TABLES_H_
