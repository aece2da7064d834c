// The beginning of a session that is unlike the rest: a server whose data are loaded, caches that
// fill, code that is not compiled yet. Its experiments cannot be compared with later ones, and
// there are too few to compare them with each other.
//
// Shape    one function of what experiments have recorded
// Units    ns; rates as a factor
// Errors   none: what is not sure is left as it is
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/design/statistics.md, "Warm-up and wind-down"
#ifndef COZ_REPORT_ANALYSIS_WARM_UP_H_
#define COZ_REPORT_ANALYSIS_WARM_UP_H_

#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

// Leaves out, for each session and point, what the experiments at the beginning have seen of the
// point, where its rate was another than later. Notes it in `table->warm_ups`.
void LeaveOutWarmUps(ExperimentTable* table);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_WARM_UP_H_
