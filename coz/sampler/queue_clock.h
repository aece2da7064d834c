// For how long the calling thread has waited for a CPU.
//
// Shape    one per thread, in its sampler's state. It keeps a descriptor from the first reading on;
//          where the program leaves no room for that, each reading opens the file
// Units    ns since the thread began
// Errors   false where the kernel does not tell: no /proc, no CONFIG_SCHED_INFO, no descriptor left
// Threads  each thread its own
// Signals  async-signal-safe
// Source   sched_info in kernel/sched/stats.h; /proc/PID/task/TID/schedstat, its second field
//
// Unlike the thread's CPU clock, a reading does not make the kernel see that the thread's slice is
// over.
#ifndef COZ_SAMPLER_QUEUE_CLOCK_H_
#define COZ_SAMPLER_QUEUE_CLOCK_H_

#include <cstdint>

namespace coz::sampler {

class QueueClock {
 public:
  constexpr QueueClock() = default;

  // No system call where the thread has had its CPU since the last reading (switch_mark.h).
  bool Read(uint64_t* queued_ns);
  void Release();
  // In the child of fork, where the descriptor is closed.
  void Forget() {
    fd_plus_1_ = 0;
    is_marked_ = false;
  }
  // The file has been moved from descriptor `from` to `to`.
  void NoteMove(int from, int to) {
    if (fd_plus_1_ == from + 1) fd_plus_1_ = to + 1;
  }

 private:
  // The descriptor, kept where there is room for it out of the program's way; or -errno.
  int Open();

  bool ReadFile(uint64_t* queued_ns);

  int fd_plus_1_ = 0;
  bool is_refused_ = false;
  bool is_marked_ = false;  // the thread has set its mark before it read `queued_ns_`
  uint64_t queued_ns_ = 0;
};

}  // namespace coz::sampler

#endif  // COZ_SAMPLER_QUEUE_CLOCK_H_
