// What all runs of a program have in common over their course: a simulation whose steps take longer
// half way through, say. Experiments of such a program are spread over it by chance, which looks
// like noise. Where several runs tell the course, each experiment is compared with what is usual at
// its place.
//
// Shape    one function of what experiments have recorded
// Units    ns; places as parts of a run
// Errors   none: what is not sure is left as it is
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/design/statistics.md, "The course of a run"; median polish (Tukey 1977)
#ifndef COZ_REPORT_ANALYSIS_RUN_COURSE_H_
#define COZ_REPORT_ANALYSIS_RUN_COURSE_H_

#include <cstdint>
#include <map>

#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

// Divides durations of each throughput point by how much longer than on average a visit takes at
// this place of a run. `ends_ns`: when the program ended, since session start, for each session in
// which it did. Notes it in `table->courses`.
void TakeOutCourse(const std::map<uint64_t, uint64_t>& ends_ns, ExperimentTable* table);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_RUN_COURSE_H_
