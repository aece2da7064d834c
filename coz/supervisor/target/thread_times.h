// How long the target's threads ran, how long they were queued for a CPU, and how often they came
// onto one, as the kernel counts it.
//
// Shape    ThreadTimesMeter sums up what the first 256 live threads gained between two reads
// Units    ns; switches onto a CPU
// Errors   what cannot be read counts nothing, as where there is no schedstat
// Threads  compatible
// Signals  none
// Source   kernel/sched/stats.h, sched_info_arrive; /proc/PID/task/TID/schedstat
#ifndef COZ_SUPERVISOR_TARGET_THREAD_TIMES_H_
#define COZ_SUPERVISOR_TARGET_THREAD_TIMES_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "coz/shared/control_block.h"

namespace coz::supervisor {

struct ThreadTimes {
  uint64_t ran_ns = 0;
  uint64_t queued_ns = 0;
  uint64_t switches = 0;
  int threads = 0;  // that ran
};

class ThreadTimesMeter {
 public:
  explicit ThreadTimesMeter(const shared::ControlBlock* control) : control_(*control) {}

  // Since the last call; nothing at the first.
  std::optional<ThreadTimes> TakeGrowth();

 private:
  static std::optional<ThreadTimes> Look(pid_t pid, pid_t tid);

  const shared::ControlBlock& control_;
  absl::flat_hash_map<pid_t, ThreadTimes> seen_;  // by thread
  bool has_looked_ = false;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_THREAD_TIMES_H_
