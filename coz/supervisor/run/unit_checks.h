// Whether the units that a user has named exist, before the program runs where that can be known.
//
// Shape    options and the tables read so far in, one sentence out
// Units    none
// Errors   CheckUnits: NOT_FOUND for what no code belongs to, INVALID_ARGUMENT for what is
//          ambiguous or claimed twice
// Threads  safe
// Signals  none
// Source   docs/units.md
#ifndef COZ_TOOLS_SUPERVISOR_UNIT_CHECKS_H_
#define COZ_TOOLS_SUPERVISOR_UNIT_CHECKS_H_

#include <string>

#include "absl/status/status.h"
#include "coz/supervisor/run/run_profile.h"
#include "coz/supervisor/units/unit_index.h"

namespace coz::supervisor {

// After UnitIndex::Prepare. Lets pass what a library, or a program to come by exec, may have.
absl::Status CheckUnits(const RunOptions& options, const UnitIndex& units);

// The first fixed or given unit, by name, that no object that was read has code of, or empty.
std::string MissingUnit(const RunOptions& options, const UnitIndex& units);

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_UNIT_CHECKS_H_
