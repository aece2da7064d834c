// Calls into libraries, each counted by the library's function and the caller's object.
//
// Shape    the supervisor numbers the functions. A process takes a point slot of kind kApi for each
//          pair of a function and a caller when the first call comes; its name is FUNCTION,
//          kApiSeparator, CALLER
// Units    numbers of functions, from 0
// Errors   a full table of points is counted in the block
// Threads  a function does not change once `count` is above its number
// Signals  lock-free
// Source   docs/design/calls-into-libraries.md
#ifndef COZ_SHARED_API_CALLS_H_
#define COZ_SHARED_API_CALLS_H_

#include <atomic>
#include <cstdint>

namespace coz::shared {

inline constexpr uint32_t kMaxApiFunctions = 1024;
inline constexpr uint32_t kApiNameBytes = 128;
inline constexpr char kApiSeparator = '\x1f';
// What the end of a call of function i is known by (OpenCall::end), beside the numbers of functions
// that are timed for themselves.
inline constexpr uint32_t kFirstApiEnd = 1 << 12;
// In the argument of the routine for ends, above that: the function belongs to a latency point.
inline constexpr uint32_t kEndHasLatency = 1 << 16;
static_assert(kFirstApiEnd + kMaxApiFunctions <= kEndHasLatency);

struct ApiFunction {
  char name[kApiNameBytes];  // as in "libz.so.1!deflate"
  uint32_t point;            // point slot + 1 that counts its calls by all callers; 0: none
  uint32_t latency;          // as in LatencyMoment: its calls by all callers
  uint32_t ends_in_jump;     // as in PointSlot
};

struct ApiFunctions {
  std::atomic<uint32_t> count;
  ApiFunction functions[kMaxApiFunctions];
};

}  // namespace coz::shared

#endif  // COZ_SHARED_API_CALLS_H_
