// Where most of a profile's time lies outside the code that may be sped up.
//
// Shape    a clause, or nothing
// Units    percent of all samples
// Errors   none
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/interpreting.md
#ifndef COZ_REPORT_WORDING_SCOPE_SHARE_H_
#define COZ_REPORT_WORDING_SCOPE_SHARE_H_

#include <string>

#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

// "96 % of the samples fell on no line in scope, neither themselves nor their callers, so nothing
// is known of most of the program's time"; empty: at least half of them are in scope.
std::string MostlyOutOfScope(const ExperimentTable& table);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_SCOPE_SHARE_H_
