// The table of calls into libraries: what `coz report --apis` prints.
//
// Shape    UTF-8 text: a row for each function and caller; where it is verbose, below it one for
//          each name of threads
// Units    s of wall and CPU time; ns a call; shares of the run in percent
// Errors   none: a profile without such calls gets a sentence
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/libraries.md
#ifndef COZ_REPORT_TEXT_APIS_TEXT_H_
#define COZ_REPORT_TEXT_APIS_TEXT_H_

#include <string>

#include "coz/report/analysis/api_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/text/report_text.h"

namespace coz::report {

// Uses `max_lines` (rows of functions and callers; 0: all) and `verbose`. The profile tells what
// was asked for.
std::string RenderApis(const ApiTable& table, const profile::Profile& profile,
                       const TextOptions& options);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_APIS_TEXT_H_
