#include "coz/report/analysis/achieved_speedups.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

namespace coz::report {
namespace {

double ShareOf(const ExperimentRow& row) {
  return row.achieved_virtual_speedup / row.virtual_speedup;
}

double WeightOf(const ExperimentRow& row) {
  return static_cast<double>(std::max<uint64_t>(row.selected_samples, 1));
}

// Experiments of one speedup.
struct Level {
  std::vector<ExperimentRow*> rows;
  double weight = 0;
  double share = 0;  // of the speedup that was made

  void Add(ExperimentRow* row) {
    rows.push_back(row);
    weight += WeightOf(*row);
    share += (ShareOf(*row) - share) * WeightOf(*row) / weight;
  }
};

using Levels = std::map<double, Level>;

// Of an experiment's share, times its weight: by the experiments next to each other in speedup.
double VarianceByWeight(const Levels& levels) {
  const ExperimentRow* last = nullptr;
  double sum = 0;
  double pairs = 0;
  for (const auto& [speedup, level] : levels) {
    for (const ExperimentRow* const row : level.rows) {
      if (last != nullptr) {
        const double distance = ShareOf(*row) - ShareOf(*last);
        sum += distance * distance / (1 / WeightOf(*row) + 1 / WeightOf(*last));
        ++pairs;
      }
      last = row;
    }
  }
  return pairs > 0 ? sum / pairs : 0;
}

// Levels differ, or seem to by chance: each goes the part of the way to the share of all that
// chance explains.
void Steady(Levels* levels) {
  double weight = 0;
  double sum = 0;
  for (const auto& [speedup, level] : *levels) {
    weight += level.weight;
    sum += level.weight * level.share;
  }
  const double all = sum / weight;
  double between = 0;
  for (const auto& [speedup, level] : *levels) {
    between += level.weight * (level.share - all) * (level.share - all);
  }
  const double by_chance = static_cast<double>(levels->size() - 1) * VarianceByWeight(*levels);
  const double kept = between > by_chance ? 1 - by_chance / between : 0;
  for (auto& [speedup, level] : *levels) {
    const double share = all + kept * (level.share - all);
    for (ExperimentRow* const row : level.rows) row->achieved_virtual_speedup = share * speedup;
  }
}

}  // namespace

void SteadyAchievedSpeedups(std::deque<ExperimentRow>* experiments) {
  // By session, part of it and unit; within, by speedup.
  std::map<std::tuple<uint64_t, uint32_t, size_t>, Levels> groups;
  for (ExperimentRow& row : *experiments) {
    // Pooled ones are means already. 0 and NaN: it could not be measured.
    if (row.block != 0 || !(row.virtual_speedup > 0 && row.achieved_virtual_speedup > 0)) continue;
    groups[{row.session, row.part, row.unit}][row.virtual_speedup].Add(&row);
  }
  for (auto& [key, levels] : groups) Steady(&levels);
}

}  // namespace coz::report
