// What is left of an experiment's time when its delay is taken off, where the program does not have
// its CPUs for itself: other programs run on them, or a CPU quota stops it.
//
// Delay is CPU time: a share of the periods that samples stand for, paid by threads that hold their
// CPUs meanwhile. Where another program has the CPU for half of the time, all CPU time takes twice
// as long by the clock, delay too. Where a quota is used up, CPU time is all that counts. Where
// waits are sped up, delay is a share of their time by the clock, whoever has the CPUs.
//
// Shape    functions of what experiments have recorded
// Units    ns of CPU time, or of waiting for a CPU; shares
// Errors   1 where a sum is missing
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/design/statistics.md, "Beside other programs" and "Below a CPU quota"
#ifndef COZ_REPORT_ANALYSIS_EFFECTIVE_DURATIONS_H_
#define COZ_REPORT_ANALYSIS_EFFECTIVE_DURATIONS_H_

#include <deque>

#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

struct CpuContention {
  double ran_ns = 0;                // the program's threads
  double queued_ns = 0;             // the same threads, for a CPU
  double beside_ns = 0;             // other programs that hardly wait, on the program's CPUs
  double busy_ns = 0;               // those CPUs, for whatever program
  double queued_for_others_ns = 0;  // of queued_ns, what no thread of the program has caused
};

// Of the CPU time that the program's threads could use, what other programs leave.
double ShareLeft(const CpuContention& contention);

// Sets share_left, share_throttled and the durations of each experiment, by what the experiments
// around it have recorded: looks at other programs are 2 s apart, and some experiments are shorter
// than that or a period of a quota.
void SetEffectiveDurations(std::deque<ExperimentRow>* experiments,
                           std::deque<ExperimentRow>* controls = nullptr);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_EFFECTIVE_DURATIONS_H_
