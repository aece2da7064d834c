#include "coz/supervisor/run/earlier_runs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "coz/base/random.h"
#include "coz/supervisor/run/profile_recorder.h"

namespace coz::supervisor {

bool IsUnit(const UnitIndex& units, experiment::UnitId id, const report::UnitRow& unit) {
  if (!units.Has(id)) return false;
  const sourcemap::UnitDescription what = units.Describe(id).what;
  return KindInProfile(what.kind) == unit.kind && what.file == unit.file &&
         what.line == unit.line && what.function == unit.function &&
         what.thread_group == unit.thread_group;
}

std::optional<experiment::UnitId> DrawFromEarlierRuns(const profile::Profile& earlier,
                                                      const UnitIndex& units,
                                                      const std::string& given, uint64_t seed) {
  const report::ExperimentTable table = report::BuildExperimentTable(earlier);
  std::vector<std::pair<experiment::UnitId, uint64_t>> weights;
  uint64_t samples = 0;
  for (const report::UnitRow& unit : table.units) {
    const std::vector<experiment::UnitId> named = units.Find(unit.Name());
    const auto found = std::find_if(named.begin(), named.end(),
                                    [&](experiment::UnitId id) { return IsUnit(units, id, unit); });
    if (found == named.end() || unit.samples == 0) continue;
    if (!given.empty() && *found == units.Find(given).front()) continue;
    weights.emplace_back(*found, unit.samples);
    samples += unit.samples;
  }
  if (samples == 0) return std::nullopt;
  constexpr uint64_t kStream = 4;  // the scheduler has those before
  uint64_t draw = Random(seed, kStream).Below(samples);
  for (const auto& [unit, weight] : weights) {
    if (draw < weight) return unit;
    draw -= weight;
  }
  return std::nullopt;
}

std::function<experiment::Dealt(experiment::UnitId)> DealtInEarlierRuns(
    const profile::Profile& earlier, const UnitIndex& units) {
  const report::ExperimentTable table = report::BuildExperimentTable(earlier);
  std::vector<experiment::Dealt> dealt(table.units.size());
  for (const report::ExperimentRow& row : table.experiments) {
    if (row.IsTainted()) continue;
    (row.IsBaseline() ? dealt[row.unit].baselines : dealt[row.unit].others) += row.pooled;
  }
  return [dealt, rows = table.units, &units](experiment::UnitId id) {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (IsUnit(units, id, rows[i])) return dealt[i];
    }
    return experiment::Dealt();
  };
}

}  // namespace coz::supervisor
