// Whether what was asked for can be done with this program, before it runs.
//
// Shape    options and the program's path or tables in, one sentence out
// Units    none
// Errors   CheckProgram: as CheckProfilable; CheckSampledLines: INVALID_ARGUMENT, NOT_FOUND
// Threads  safe
// Signals  none
// Source   docs/running.md, "Prepare it"; docs/progress-points.md
#ifndef COZ_TOOLS_SUPERVISOR_RUN_CHECKS_H_
#define COZ_TOOLS_SUPERVISOR_RUN_CHECKS_H_

#include <string>

#include "absl/status/status.h"
#include "coz/supervisor/run/run_profile.h"
#include "coz/supervisor/units/unit_index.h"

namespace coz::supervisor {

// Whether the program at this path can be profiled with these options.
absl::Status CheckProgram(const RunOptions& options, const std::string& program);

// Whether the lines exist whose samples are to be counted. After UnitIndex::Prepare.
// Patterns of --source-scope and --binary-scope that match nothing: what cannot match later is
// refused. A library may be opened later; other programs follow a launcher.
absl::Status CheckScopes(const RunOptions& options, const std::string& program,
                         const UnitIndex& units);

// Whether the pattern of --source-scope fits the file of a line that was read.
bool HasSource(const UnitIndex& units, const std::string& pattern);

absl::Status CheckSampledLines(const RunOptions& options, const UnitIndex& units);

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_RUN_CHECKS_H_
