// Progress points in shared memory: their names, and where their visits are counted.
//
// Shape    a table of points. Each thread slot holds a counter for each point, and a timed cell for
//          some
// Units    visits; ns; bucket numbers
// Errors   none; a full table is counted in the block
// Threads  atomic where it changes after the slot is ready
// Signals  lock-free
// Source   docs/design.md, "Shared memory"
#ifndef COZ_SHARED_POINTS_H_
#define COZ_SHARED_POINTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coz::shared {

inline constexpr uint32_t kMaxPoints = 256;
inline constexpr uint32_t kMaxTimedPoints = 64;
inline constexpr uint32_t kPointNameBytes = 232;

// Marks are numbered as in the original. A place is the supervisor's: changed code counts there. An
// api is a function of a library by one caller (api_calls.h).
enum class PointKind : uint32_t { kThroughput = 1, kBegin = 2, kEnd = 3, kPlace = 4, kApi = 5 };
enum class PointState : uint32_t { kFree, kBeingWritten, kReady };

// The original's counter type: what _coz_get_counter returns.
struct CompatibleCounter {
  std::atomic<size_t> count;
  size_t backoff;
};
static_assert(sizeof(CompatibleCounter) == 16,
              "programs built with the original's coz.h rely on it");

// Kind and name identify a point. BEGIN and END of one name are two slots. Its visits are the sum
// of `shared` and of every thread slot's counter and timed cell.
struct PointSlot {
  std::atomic<PointState> state;
  PointKind kind;
  char name[kPointNameBytes];
  CompatibleCounter shared;
  // 1: a place of an earlier session of the process, which nobody counts at any more.
  std::atomic<uint32_t> is_released;
  // 1: a timed function that ends in a jump to another one, whose time is not in its own.
  std::atomic<uint32_t> ends_in_jump;
  std::atomic<uint32_t> timed_cell;  // its index in thread slots + 1; 0: no timed visit so far
};

// A thread's visits to a BEGIN or END whose times are known. Only the thread writes it. `changes`
// is odd while it does.
struct TimedCell {
  std::atomic<uint64_t> changes;
  std::atomic<uint64_t> visits;
  // Sum of virtual times, which are CLOCK_MONOTONIC - local delay. Modulo 2^64.
  std::atomic<uint64_t> time_sum_ns;
};

// Times between BEGIN and END of one request, where the program names requests. The index is
// LatencyBucket.
inline constexpr uint32_t kLatencyBuckets = 1024;
struct LatencyHistogram {
  std::atomic<uint64_t> requests[kLatencyBuckets];
};

// There are sixteen buckets for every power of two. Each is about 4 to 6 % wide.
inline constexpr uint32_t LatencyBucket(uint64_t ns) {
  if (ns < 16) return static_cast<uint32_t>(ns);
  const uint32_t exponent = 63 - static_cast<uint32_t>(__builtin_clzll(ns));
  return (exponent - 3) << 4 | (static_cast<uint32_t>(ns >> (exponent - 4)) & 15);
}
static_assert(LatencyBucket(~uint64_t{0}) < kLatencyBuckets);
// The lowest latency in the bucket.
inline constexpr uint64_t LatencyOfBucket(uint32_t bucket) {
  return bucket < 16 ? bucket : uint64_t{16 | (bucket & 15)} << ((bucket >> 4) - 1);
}
static_assert(LatencyBucket(LatencyOfBucket(500)) == 500);
static_assert(LatencyBucket(LatencyOfBucket(501) - 1) == 500);

}  // namespace coz::shared

#endif  // COZ_SHARED_POINTS_H_
