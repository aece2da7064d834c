// How many threads the target has, and how many compete for its CPUs.
//
// Shape    figures of the last look; a look takes a sample of the threads, the next look goes on
// Units    threads; CPUs
// Errors   0 where /proc cannot be read
// Threads  compatible
// Signals  none
// Source   proc(5); sched(7)
#ifndef COZ_SUPERVISOR_TARGET_THREAD_LOAD_H_
#define COZ_SUPERVISOR_TARGET_THREAD_LOAD_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "coz/base/unique_fd.h"
#include "coz/shared/control_block.h"
#include "coz/sync/delay/crowd_watch.h"

namespace coz::supervisor {

// The state letter of a thread in /proc/PID/task/TID/stat, or 0 where it is gone.
char ThreadStateLetter(pid_t pid, pid_t tid);

// The same of threads that are looked at again and again: their files stay open.
class ThreadStates {
 public:
  ThreadStates();
  char Letter(pid_t pid, pid_t tid);

 private:
  size_t most_open_;
  std::map<std::pair<pid_t, pid_t>, UniqueFd> files_;  // by process and thread
};

// Whether the kernel runs the thread before all ordinary ones (SCHED_FIFO, SCHED_RR,
// SCHED_DEADLINE).
bool IsRealtime(pid_t tid);

class ThreadLoad {
 public:
  explicit ThreadLoad(const shared::ControlBlock* control);

  // Looks again where the last look is some time ago. `now_ns` is of CLOCK_MONOTONIC.
  void Poll(uint64_t now_ns);

  // For how long the target's CPUs had been idle by `read_ns`, in all, and how much delay had been
  // inserted. Time with delays does not count: threads wait more then.
  void NoteIdle(uint64_t idle_ns, uint64_t read_ns, uint64_t delay_ns);
  // That is not known any more.
  void ForgetIdle() {
    idle_read_ns_ = 0;
    idle_cpus_ = 0;
  }

  int live() const { return live_; }
  // Threads of the target on a CPU or waiting for one, as far as the look tells; at most live().
  int runnable() const { return runnable_; }
  // Threads of other programs that compete with them: those beyond what the CPUs hold that the
  // target may not use.
  int beside() const { return beside_; }
  int cpus() const { return cpus_; }
  // Threads of the target with a real-time policy, as far as they were looked at.
  int realtime() const { return realtime_; }
  bool is_crowd() const { return is_crowd_; }

 private:
  const shared::ControlBlock& control_;
  uint64_t read_ns_ = 0;
  uint32_t cursor_ = 0;
  int live_ = 0;
  int runnable_ = 0;
  int beside_ = 0;
  int realtime_ = 0;
  int cpus_ = 1;
  int cpus_of_machine_ = 1;
  UniqueFd load_average_;
  ThreadStates states_;
  uint64_t idle_ns_ = 0;
  uint64_t idle_read_ns_ = 0;
  uint64_t idle_delay_ns_ = 0;
  double idle_cpus_ = 0;
  delay::CrowdWatch crowd_;
  bool is_crowd_ = false;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_THREAD_LOAD_H_
