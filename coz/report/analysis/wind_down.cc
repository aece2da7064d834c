#include "coz/report/analysis/wind_down.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/statistics/median.h"

namespace coz::report {
namespace {

constexpr size_t kLeastExperimentsOfRun = 6;
// A longer one is a phase of the program, with lines of its own.
constexpr double kLongestWindDown = 1.0 / 6;
// Of the time of a visit: nothing is left out for less.
constexpr double kLeastFactorOfTimes = 1.5;
constexpr double kLeastDeviationsOfRuns = 3;
// With so few runs one end may be slow by chance.
constexpr size_t kFewRuns = 2;
constexpr double kLeastDeviationsOfFewRuns = 6;
// Of many runs so many end slowly, and other experiments are as slow so much more rarely.
constexpr double kLeastPartOfRuns = 1.0 / 3;
constexpr double kMoreOftenThanElse = 4;

struct Seen {
  uint64_t start_ns;
  double log_time;  // of a visit; beside the usual one of its run, once that is known
};

struct Run {
  uint64_t end_ns;
  std::vector<Seen> experiments;  // in the order of time
};

void SetBesideUsual(Run* run) {
  std::vector<double> times;
  times.reserve(run->experiments.size());
  for (const Seen& seen : run->experiments) times.push_back(seen.log_time);
  const double usual = Median(std::move(times));
  for (Seen& seen : run->experiments) seen.log_time -= usual;
}

double SlowBound(const std::vector<Run>& runs) {
  std::vector<double> distances;
  for (const Run& run : runs) {
    for (const Seen& seen : run.experiments) distances.push_back(seen.log_time);
  }
  const double least = runs.size() <= kFewRuns ? kLeastDeviationsOfFewRuns : kLeastDeviationsOfRuns;
  return std::max(std::log(kLeastFactorOfTimes), least * DeviationAround(0, std::move(distances)));
}

// From which experiment on all are slow.
size_t FirstOfSlowEnd(const Run& run, double bound) {
  size_t first = run.experiments.size();
  while (first > 0 && run.experiments[first - 1].log_time > bound) --first;
  return first;
}

std::optional<WindDown> FindWindDown(std::vector<Run> runs) {
  for (Run& run : runs) SetBesideUsual(&run);
  const double bound = SlowBound(runs);
  WindDown found;
  std::vector<double> slow_ends;
  size_t slow_else = 0;
  size_t all_else = 0;
  for (const Run& run : runs) {
    const size_t first = FirstOfSlowEnd(run, bound);
    for (size_t i = 0; i < first; ++i) {
      slow_else += run.experiments[i].log_time > bound ? 1 : 0;
    }
    all_else += first;
    if (first == run.experiments.size()) continue;
    const uint64_t lasts_ns = run.end_ns - run.experiments[first].start_ns;
    if (static_cast<double>(lasts_ns) > kLongestWindDown * static_cast<double>(run.end_ns))
      continue;
    found.lasts_ns = std::max(found.lasts_ns, lasts_ns);
    slow_ends.push_back(run.experiments.back().log_time);
  }
  const double part = static_cast<double>(slow_ends.size()) / static_cast<double>(runs.size());
  if (part < kLeastPartOfRuns || all_else == 0) return std::nullopt;
  const double part_else = static_cast<double>(slow_else) / static_cast<double>(all_else);
  if (kMoreOftenThanElse * part_else > part) return std::nullopt;
  found.rate = std::exp(-Median(std::move(slow_ends)));
  return found;
}

template <typename Rows>
void LeaveOut(const WindDown& wind_down, Rows* rows) {
  for (auto& row : *rows) {
    if (wind_down.Has(row.session, row.start_ns, row.block)) LeaveOutPoint(wind_down.point, &row);
  }
}

// Of each point, by session.
using Runs = std::map<size_t, std::map<uint64_t, Run>>;

Runs RunsThatEnded(const std::map<uint64_t, uint64_t>& ends_ns, const ExperimentTable& table) {
  Runs runs;
  for (const ExperimentRow& row : table.experiments) {
    const auto end = ends_ns.find(row.session);
    if (end == ends_ns.end() || row.block != 0 || row.taints != 0) continue;
    for (const PointSeen& seen : row.points) {
      if (table.points[seen.point].kind == profile::PROGRESS_POINT_KIND_END_TO_END) continue;
      if (seen.visits <= 0 || seen.duration <= 0) continue;
      Run& run = runs[seen.point][row.session];
      run.end_ns = end->second;
      run.experiments.push_back({row.start_ns, std::log(seen.duration / seen.visits)});
    }
  }
  return runs;
}

}  // namespace

void LeaveOutWindDowns(const std::map<uint64_t, uint64_t>& ends_ns, ExperimentTable* table) {
  for (auto& [point, by_session] : RunsThatEnded(ends_ns, *table)) {
    std::vector<Run> runs;
    for (auto& [session, run] : by_session) {
      if (run.experiments.size() < kLeastExperimentsOfRun) continue;
      std::sort(run.experiments.begin(), run.experiments.end(),
                [](const Seen& a, const Seen& b) { return a.start_ns < b.start_ns; });
      if (run.experiments.back().start_ns < run.end_ns) runs.push_back(std::move(run));
    }
    if (runs.empty()) continue;
    std::optional<WindDown> found = FindWindDown(std::move(runs));
    if (!found.has_value()) continue;
    found->point = point;
    for (const auto& [session, end_ns] : ends_ns) {
      found->from_ns[session] = end_ns - std::min(end_ns, found->lasts_ns);
    }
    LeaveOut(*found, &table->experiments);
    LeaveOut(*found, &table->bare);
    LeaveOut(*found, &table->controls);
    table->wind_downs.push_back(std::move(*found));
  }
}

}  // namespace coz::report
