#include "coz/report/analysis/achieved_speedups.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace coz::report {
namespace {

// Experiments of one speedup.
struct Level {
  std::vector<ExperimentRow*> rows;
  double weight = 0;
  double share = 0;     // of the speedup that was made
  double variance = 0;  // of `share`
};

double ShareOf(const ExperimentRow& row) {
  return row.achieved_virtual_speedup / row.virtual_speedup;
}

double WeightOf(const ExperimentRow& row) {
  return static_cast<double>(std::max<uint64_t>(row.selected_samples, 1));
}

void Measure(Level* level) {
  double sum = 0;
  for (const ExperimentRow* const row : level->rows) {
    level->weight += WeightOf(*row);
    sum += WeightOf(*row) * ShareOf(*row);
  }
  level->share = sum / level->weight;
  if (level->rows.size() < 2) return;
  double squares = 0;
  for (const ExperimentRow* const row : level->rows) {
    const double distance = WeightOf(*row) * (ShareOf(*row) - level->share);
    squares += distance * distance;
  }
  const auto count = static_cast<double>(level->rows.size());
  level->variance = squares / (level->weight * level->weight) * count / (count - 1);
}

// Levels differ, or seem to by chance: each goes the way to the share of all that the variances
// explain. A level of one experiment has the variance of the others.
void Steady(std::vector<Level>* levels) {
  double weight = 0;
  double sum = 0;
  double variances = 0;
  double measured = 0;
  for (Level& level : *levels) {
    Measure(&level);
    weight += level.weight;
    sum += level.weight * level.share;
    if (level.rows.size() < 2) continue;
    variances += level.variance * static_cast<double>(level.rows.size());
    ++measured;
  }
  const double all = sum / weight;
  const double of_one = measured > 0 ? variances / measured : 0;
  double between = 0;
  double by_chance = 0;
  for (const Level& level : *levels) {
    between += level.weight * (level.share - all) * (level.share - all) / weight;
    by_chance += level.weight / weight * of_one / static_cast<double>(level.rows.size());
  }
  const double kept = between > by_chance ? 1 - by_chance / between : 0;
  for (Level& level : *levels) {
    const double share = all + kept * (level.share - all);
    for (ExperimentRow* const row : level.rows) {
      row->achieved_virtual_speedup = share * row->virtual_speedup;
    }
  }
}

}  // namespace

void SteadyAchievedSpeedups(std::deque<ExperimentRow>* experiments) {
  // By session, part of it and unit; within, by speedup.
  std::map<std::tuple<uint64_t, uint32_t, size_t>, std::map<double, Level>> groups;
  for (ExperimentRow& row : *experiments) {
    // Pooled ones are means already. 0 and NaN: it could not be measured.
    if (row.block != 0 || !(row.virtual_speedup > 0 && row.achieved_virtual_speedup > 0)) continue;
    Level& level = groups[{row.session, row.part, row.unit}][row.virtual_speedup];
    level.rows.push_back(&row);
  }
  for (auto& [key, by_speedup] : groups) {
    std::vector<Level> levels;
    levels.reserve(by_speedup.size());
    for (auto& [speedup, level] : by_speedup) levels.push_back(std::move(level));
    Steady(&levels);
  }
}

}  // namespace coz::report
