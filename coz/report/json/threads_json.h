// The table of threads as JSON: what `coz report --threads --json` prints, and a part of `coz
// report --json`.
//
// Shape    one object; docs/report-json.md describes its fields
// Units    in the names: _ns; visits
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/report-json.md
#ifndef COZ_REPORT_JSON_THREADS_JSON_H_
#define COZ_REPORT_JSON_THREADS_JSON_H_

#include "coz/report/analysis/thread_table.h"
#include "nlohmann/json_fwd.hpp"

namespace coz::report {

nlohmann::ordered_json ThreadsJson(const ThreadTable& table);

}  // namespace coz::report

#endif  // COZ_REPORT_JSON_THREADS_JSON_H_
