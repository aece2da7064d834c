// Calls into libraries as JSON (docs/report-json.md).
//
// Shape    an object
// Units    ns; calls
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/report-json.md
#ifndef COZ_REPORT_JSON_APIS_JSON_H_
#define COZ_REPORT_JSON_APIS_JSON_H_

#include "coz/report/analysis/api_table.h"
#include "nlohmann/json_fwd.hpp"

namespace coz::report {

nlohmann::ordered_json ApisJson(const ApiTable& table);

}  // namespace coz::report

#endif  // COZ_REPORT_JSON_APIS_JSON_H_
