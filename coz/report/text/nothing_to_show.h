// What a report says where nothing was measured: what happened, and what to do about it.
//
// Shape    lines of UTF-8 text, the next command in them
// Units    none
// Errors   none
// Threads  safe: a pure function
// Signals  not async-signal-safe
// Source   issue 2, item 7
#ifndef COZ_REPORT_TEXT_NOTHING_TO_SHOW_H_
#define COZ_REPORT_TEXT_NOTHING_TO_SHOW_H_

#include <string>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

std::string NothingToShow(const profile::Profile& profile, const ExperimentTable& table,
                          const Analysis& analysis);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_NOTHING_TO_SHOW_H_
