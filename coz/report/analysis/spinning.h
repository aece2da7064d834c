// How much of a program's CPU time goes into loops that wait for something on their CPU.
//
// Shape    figures of all baselines together: where threads are paused, those that wait for them
//          spin for longer
// Units    fractions of 1
// Errors   none; all is 0 in profiles without such loops
// Threads  safe: a pure function
// Signals  none
// Source   docs/design/waits-and-credit.md, "Spinning"
#ifndef COZ_REPORT_ANALYSIS_SPINNING_H_
#define COZ_REPORT_ANALYSIS_SPINNING_H_

#include <cstddef>
#include <vector>

#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

struct Spinning {
  double share = 0;         // of the samples
  bool is_outside = false;  // most of these loops are in code out of scope
  // About the gain if these loops gave up their CPUs, for which other threads of the program are
  // queued; 0: most baselines have no queue.
  double freed = 0;
  // Numbers of the table: where these loops are, those with most of the samples first. Units with
  // less than a tenth of them are left out.
  std::vector<size_t> units;
};

Spinning FindSpinning(const ExperimentTable& table);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_SPINNING_H_
