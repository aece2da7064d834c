// What other programs leave a program of the CPU time that its threads could use, and what that
// makes of inserted delay.
//
// Delay is CPU time: a share of the periods that samples stand for, paid by threads that hold their
// CPUs meanwhile. Where another program has the CPU for half of the time, all CPU time takes twice
// as long by the clock, delay too.
//
// Shape    pure functions of what experiments have recorded
// Units    ns of CPU time, or of waiting for a CPU; shares
// Errors   1 where a sum is missing
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/design/statistics.md, "Beside other programs"
#ifndef COZ_REPORT_ANALYSIS_SHARE_LEFT_H_
#define COZ_REPORT_ANALYSIS_SHARE_LEFT_H_

#include <deque>

#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

struct CpuContention {
  double ran_ns = 0;     // the program's threads
  double queued_ns = 0;  // the same threads, for a CPU
  double beside_ns = 0;  // other programs that hardly wait, on the program's CPUs
  double busy_ns = 0;    // those CPUs, for whatever program
};

double ShareLeft(const CpuContention& contention);

// Sets what is left of each experiment's time when its delay is taken off, by what the experiments
// around it have recorded: looks at other programs are 2 s apart, and some experiments are shorter.
void SetEffectiveDurations(std::deque<ExperimentRow>* experiments);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_SHARE_LEFT_H_
