// What programs beside take from the target: their CPU time, and for how long the target's threads
// are queued. Only where programs that hardly wait run beside it; else nothing is looked at.
//
// Shape    figures of the last look, cumulative
// Units    ns, CPUs
// Errors   0 where the kernel does not tell
// Threads  compatible
// Signals  none
// Source   coz/supervisor/target/thread_times.h; docs/design/statistics.md, "Beside other programs"
#ifndef COZ_SUPERVISOR_TARGET_BESIDE_WATCH_H_
#define COZ_SUPERVISOR_TARGET_BESIDE_WATCH_H_

#include <cstdint>
#include <optional>

#include "coz/experiment/target.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/target/thread_times.h"

namespace coz::supervisor {

// Of the time for which threads were queued, what no thread of the target can have caused: all,
// where they were at most as many as the CPUs that they may use, and ran for long at a time.
uint64_t QueuedForOthersNs(const ThreadTimes& times, int cpus);

class BesideWatch {
 public:
  explicit BesideWatch(const shared::ControlBlock* control) : control_(control) {}

  // How many CPUs such programs keep busy from now on.
  void SetCpus(double cpus) { cpus_ = cpus; }

  bool is_beside() const;
  // Looks again where the last look is some time ago. `busy_ns`: of CpuUse; `cpus`: how many the
  // target may use.
  void Poll(uint64_t now_ns, uint64_t busy_ns, int cpus);
  const experiment::BesideUse& use() const { return use_; }

 private:
  const shared::ControlBlock* const control_;
  std::optional<ThreadTimesMeter> times_;  // while something is beside
  double cpus_ = 0;
  uint64_t read_ns_ = 0;
  uint64_t busy_ns_ = 0;  // at that time
  experiment::BesideUse use_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_BESIDE_WATCH_H_
