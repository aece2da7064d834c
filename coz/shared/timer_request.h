// The threads for which a process that is attached to is to make CPU timers.
//
// Shape    one request at a time; kSampleByTimersFunction (attach_interface.h) answers it
// Units    numbers of threads
// Errors   see `threads`
// Threads  the supervisor writes it before the call and reads it afterwards; the process in between
// Signals  none
// Source   docs/design/attach.md, "Samples"
#ifndef COZ_SHARED_TIMER_REQUEST_H_
#define COZ_SHARED_TIMER_REQUEST_H_

#include <cstdint>

namespace coz::shared {

inline constexpr uint32_t kMostTimersAsked = 1024;

struct TimerRequest {
  uint32_t count;
  // The answer stands in the place of each: 0, or -errno.
  int32_t threads[kMostTimersAsked];
};

}  // namespace coz::shared

#endif  // COZ_SHARED_TIMER_REQUEST_H_
