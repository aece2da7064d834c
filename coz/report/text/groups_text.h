// The table of hosts, binaries or kernels: what `coz report --by host` prints.
//
// Shape    UTF-8 text: first who does not fit the others, then for each line a row for each group,
//          those first that do not fit, then those with the most experiments
// Units    gains in percent, slopes as fractions, with 95 % intervals; time per visit at 0 %
// Errors   none: a profile of one group gets its table, and a sentence
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/fleet.md
#ifndef COZ_REPORT_TEXT_GROUPS_TEXT_H_
#define COZ_REPORT_TEXT_GROUPS_TEXT_H_

#include <string>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/group_table.h"
#include "coz/report/text/report_text.h"
#include "coz/report/wording/unit_names.h"

namespace coz::report {

// Uses `max_lines`: groups of each line; 0: all. `table` has the units and points.
std::string RenderGroups(const GroupTable& groups, const ExperimentTable& table,
                         const UnitNames& names, const TextOptions& options);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_GROUPS_TEXT_H_
