// The end of runs that is unlike the rest: some threads of a program that works its input off have
// nothing left to do, and queues drain. An experiment in it cannot be compared with others.
//
// Shape    one function of what experiments have recorded
// Units    ns; rates as a factor
// Errors   none: what is not sure is left as it is
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/design/statistics.md, "Warm-up and wind-down"
#ifndef COZ_REPORT_ANALYSIS_WIND_DOWN_H_
#define COZ_REPORT_ANALYSIS_WIND_DOWN_H_

#include <cstdint>
#include <map>

#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

// Leaves out, for each point, what experiments have seen of it at the end of runs where it came
// more rarely than before. `ends_ns`: when the program ended, since session start, for each session
// in which it did. Sessions of one profile are taken to end alike: what one loses at its end, all
// do. So it does not depend on what an experiment itself has seen. Notes it in
// `table->wind_downs`.
void LeaveOutWindDowns(const std::map<uint64_t, uint64_t>& ends_ns, ExperimentTable* table);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_WIND_DOWN_H_
