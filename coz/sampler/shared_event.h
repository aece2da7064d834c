// Lets another process suspend the sampling of this one and resume it, all of its threads at once,
// without a signal to any.
//
// Shape    plain data in memory that both share, zeros at first; one SharedEvent a process, one
//          count of suspensions for all
// Units    none
// Errors   none here: whoever suspends sees whether the descriptor can be had (pidfd_getfd) and the
//          event disabled
// Threads  safe, across processes
// Signals  async-signal-safe; SharedEventHold sleeps for moments and is not for handlers
// Source   perf_event_open(2): PERF_EVENT_IOC_ID; PERF_EVENT_IOC_DISABLE of an inherited event
//          reaches each thread that has inherited it
//
// To suspend: make the count odd; then, for each process, hold its event, disable it, release it.
// To resume: make the count even, and enable them likewise. A process that starts to sample
// meanwhile looks at the count while it holds its own event, so either side sees the other.
#ifndef COZ_SAMPLER_SHARED_EVENT_H_
#define COZ_SAMPLER_SHARED_EVENT_H_

#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "coz/base/clock.h"
#include "coz/base/raw_syscall.h"

namespace coz::sampler {

struct SharedEvent {
  // Number of the inherited event's descriptor in its process, + 1; 0: there is none, or it is not
  // to be touched now. Written by that process.
  std::atomic<int32_t> fd_plus_1;
  // The kernel's number of that event, PERF_EVENT_IOC_ID. By raw system calls the program may have
  // closed the descriptor and opened an event of its own under the same number.
  std::atomic<uint64_t> event;
  std::atomic<uint32_t> held;  // 1: by who enables or disables it
};

// Sampling is suspended while the count is odd.
using SuspensionCount = std::atomic<uint32_t>;
inline bool IsSuspended(uint32_t count) { return count % 2 != 0; }

// Waits for some moments while the other side holds it, then goes on: the holder has been killed or
// stopped.
class SharedEventHold {
 public:
  explicit SharedEventHold(SharedEvent* event) : event_(event) {
    constexpr timespec kLook = {0, 50 * kNsPerUs};
    constexpr int kMostLooks = 400;
    for (int i = 0; i < kMostLooks; ++i) {
      uint32_t free = 0;
      if (event_->held.compare_exchange_strong(free, 1)) return;
      RawSyscall(SYS_nanosleep, &kLook, nullptr);
    }
  }
  ~SharedEventHold() { event_->held.store(0); }
  SharedEventHold(const SharedEventHold&) = delete;
  SharedEventHold& operator=(const SharedEventHold&) = delete;

 private:
  SharedEvent* const event_;
};

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_SHARED_EVENT_H_
