// Latency pairs without times, in shared memory: the sums for them, and the supervisor's counters
// that processes may read for them.
//
// Shape    two tables that the supervisor sets up
// Units    ns of delay; ns times requests; visits
// Errors   none
// Threads  atomic where it changes after it is published
// Signals  lock-free
// Source   docs/design/points.md, "Latency of pairs without times"
#ifndef COZ_SHARED_PAIRS_H_
#define COZ_SHARED_PAIRS_H_

#include <atomic>
#include <cstdint>

namespace coz::shared {

// A pair whose visits have no times. For each delay that it imposes, the target notes the number of
// requests under way. The supervisor sets the pair up, the target adds to the sums.
inline constexpr uint32_t kMaxChargedPairs = 8;
inline constexpr uint32_t kAtPlaces = 0xffffffff;
struct ChargedPair {
  uint32_t begin;  // index of a point slot; kAtPlaces: lent counters count it
  uint32_t end;    // as `begin`
  uint32_t point;  // the supervisor's number of the pair
  // Where an end is counted at places: the slot + 1 to which changed code adds its visits.
  uint32_t begin_place;
  uint32_t end_place;
  std::atomic<uint64_t> delay_ns;            // imposed
  std::atomic<uint64_t> delay_in_flight_ns;  // each delay times begins less ends; modulo 2^64
};

// Counters of visits to places that the supervisor lets processes read. A breakpoint counts in one
// program, a probe in all. The supervisor writes them before a program that needs them goes on. The
// visits of a point are the sum over its entries.
enum class PairEnd : uint32_t { kBegin, kEnd };
inline constexpr uint32_t kMaxLentCounters = 32;
struct LentCounter {
  std::atomic<int32_t> fd;      // the supervisor's; -1: only `visits_before` counts
  std::atomic<uint32_t> point;  // the supervisor's number of the pair
  std::atomic<PairEnd> end;
  std::atomic<uint64_t> event;          // the kernel's number; tells whether `fd` was reused
  std::atomic<uint64_t> visits_before;  // to be added to what `fd` reads
};
struct LentCounters {
  std::atomic<uint32_t> version;  // odd while the supervisor writes the table
  std::atomic<uint32_t> used;     // 0: they cannot be read
  LentCounter counters[kMaxLentCounters];
};

}  // namespace coz::shared

#endif  // COZ_SHARED_PAIRS_H_
