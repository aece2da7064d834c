// What other programs leave a program of the CPU time that its threads could use, and what that
// makes of virtual speedups.
//
// A sample stands for a period of CPU time. Where another program has the CPU for a part of the
// time, the period takes longer by the clock, but a pause does not. So a pause of half a period
// speeds the line up by less than half: by half times the share that is left.
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

// Makes virtual speedups what pauses made of them by the clock, by what the experiments around each
// one have recorded: looks at other programs are 2 s apart, and some experiments are shorter. Those
// asked for stay multiples of 5 %, and stay as they are where others took less than that.
void ScaleSpeedups(std::deque<ExperimentRow>* experiments);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_SHARE_LEFT_H_
