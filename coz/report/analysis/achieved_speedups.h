// The virtual speedups that experiments really made, without the noise of each one's figure.
//
// An experiment's figure is the delay imposed, by the CPU time of the samples in the unit. Both are
// counted apart where delay is imposed by the length of stretches, and samples are few: 40 of a CPU
// timer make a figure that is 50 % off. A slope over figures with such errors comes out too small.
// So the experiments of one unit and speedup have one figure, of all their delay by all their
// samples.
//
// Shape    one function of what experiments have recorded
// Units    fractions
// Errors   experiments without a figure keep none
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/design/statistics.md, "A slope"
#ifndef COZ_REPORT_ANALYSIS_ACHIEVED_SPEEDUPS_H_
#define COZ_REPORT_ANALYSIS_ACHIEVED_SPEEDUPS_H_

#include <deque>

#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

// Sets achieved_virtual_speedup of each experiment. Needs `part`.
void SteadyAchievedSpeedups(std::deque<ExperimentRow>* experiments);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_ACHIEVED_SPEEDUPS_H_
