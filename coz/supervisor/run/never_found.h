// What the command line named, but no code that the run loaded belonged to.
//
// Shape    one sentence each
// Units    none
// Errors   none
// Threads  safe
// Signals  none
// Source   docs/units.md, docs/progress-points.md
#ifndef COZ_TOOLS_SUPERVISOR_NEVER_FOUND_H_
#define COZ_TOOLS_SUPERVISOR_NEVER_FOUND_H_

#include <string>
#include <vector>

#include "coz/supervisor/points/outside_points.h"
#include "coz/supervisor/run/run_profile.h"
#include "coz/supervisor/target/live_target.h"
#include "coz/supervisor/units/unit_index.h"

namespace coz::supervisor {

// Groups, excluded patterns, progress points. Fixed and given units are RunResult::missing_unit.
// `worker` is the file name of the program that the started one ran to do the work, or empty.
std::vector<std::string> NeverFound(const RunOptions& options, const UnitIndex& units,
                                    const OutsidePoints& points, const LiveTarget& target,
                                    const std::string& worker);

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_NEVER_FOUND_H_
