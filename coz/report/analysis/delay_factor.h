// How much time a delay really takes, as controls tell: experiments in which all threads are
// delayed and nothing is sped up.
//
// The rate of a control by effective time must be that of baselines. It is lower where pauses take
// more of the program's time than they last, as in a crowd. It is higher where the program waits
// for the clock or a load at a pace of its own, and makes up for pauses by waiting less. So an
// experiment's time is
//
//     elapsed − factor × delay
//
// Shape    one factor for each point that counts visits; nothing changes without enough controls
// Units    ns, shares
// Errors   a point with too few controls or baselines has no factor
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/design/statistics.md, "Controls"
#ifndef COZ_REPORT_ANALYSIS_DELAY_FACTOR_H_
#define COZ_REPORT_ANALYSIS_DELAY_FACTOR_H_

#include <cstddef>

#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

// A point is paced from outside where its factor, with its interval, is below this: most of the
// pauses left no trace in its rate.
inline constexpr double kPacedBelow = 0.5;

// Fewer tell nothing.
inline constexpr int kLeastControls = 4;

// What delays are known to be without a control, as a standard deviation of the factor: of programs
// that have a CPU for each thread, with chance in it (docs/results.md, "Controls").
inline constexpr double kUsualDeviation = 0.03;

// Sets table->delay_factors, and the durations of all experiments at these points.
void SetDelayFactors(ExperimentTable* table);

// Nullptr where it is not known.
const DelayFactor* DelayFactorOf(const ExperimentTable& table, size_t point);

bool IsPaced(const DelayFactor& factor);

// What is left of `elapsed_ns` at a point where delay counts by `factor`, by what is left where it
// counts by 1.
double LeftByFactor(double elapsed_ns, double effective_ns, double factor);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_DELAY_FACTOR_H_
