// The table of hosts, binaries or kernels as JSON: what `coz report --by host --json` prints.
//
// Shape    one object; docs/report-json.md describes its fields
// Units    in the names; speedups, slopes and probabilities are fractions
// Errors   none: a figure that could not be computed is null
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/report-json.md
#ifndef COZ_REPORT_JSON_GROUPS_JSON_H_
#define COZ_REPORT_JSON_GROUPS_JSON_H_

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/group_table.h"
#include "nlohmann/json_fwd.hpp"

namespace coz::report {

// `names` has the units and points.
nlohmann::ordered_json GroupsJson(const GroupTable& table, const ExperimentTable& names);

}  // namespace coz::report

#endif  // COZ_REPORT_JSON_GROUPS_JSON_H_
