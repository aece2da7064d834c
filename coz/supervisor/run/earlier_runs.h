// What a run learns from earlier runs of its series: which units it shares, and where time was
// spent.
//
// Shape    a profile and the units of this run in, units of this run out
// Units    none
// Errors   nothing where no unit of an earlier run is there
// Threads  safe
// Signals  none
// Source   docs/progress-points.md, "Programs without a unit of work"
#ifndef COZ_TOOLS_SUPERVISOR_EARLIER_RUNS_H_
#define COZ_TOOLS_SUPERVISOR_EARLIER_RUNS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "coz/experiment/speedup_deck.h"
#include "coz/experiment/target.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/supervisor/units/unit_index.h"

namespace coz::supervisor {

// Whether a unit of this run is that of a profile.
bool IsUnit(const UnitIndex& units, experiment::UnitId id, const report::UnitRow& unit);

// The unit of a random sample of earlier runs. Its code is there at the start; it is not the given
// one.
std::optional<experiment::UnitId> DrawFromEarlierRuns(const profile::Profile& earlier,
                                                      const UnitIndex& units,
                                                      const std::string& given, uint64_t seed);

// How many experiments units have had that can be used. The units stay where they are.
std::function<experiment::Dealt(experiment::UnitId)> DealtInEarlierRuns(
    const profile::Profile& earlier, const UnitIndex& units);

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_EARLIER_RUNS_H_
