#include "coz/report/analysis/warm_up.h"

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

constexpr size_t kLeastBaselinesOfSession = 9;
// A longer one is a phase of the program, with lines of its own.
constexpr double kLongestWarmUp = 1.0 / 6;
// Of rates: nothing is left out for less.
constexpr double kLeastFactorOfRates = 1.5;
constexpr double kLeastDeviations = 6;

struct Baseline {
  uint64_t start_ns;
  double log_time;  // of a visit
};

std::optional<WarmUp> FindWarmUp(std::vector<Baseline> baselines, uint64_t session_end_ns) {
  if (baselines.size() < kLeastBaselinesOfSession) return std::nullopt;
  std::sort(baselines.begin(), baselines.end(),
            [](const Baseline& a, const Baseline& b) { return a.start_ns < b.start_ns; });
  std::vector<double> later;
  for (size_t i = baselines.size() / 2; i < baselines.size(); ++i) {
    later.push_back(baselines[i].log_time);
  }
  const double usual = Median(later);
  const double bound = std::max(std::log(kLeastFactorOfRates),
                                kLeastDeviations * DeviationAround(usual, std::move(later)));
  const auto usual_one = std::find_if(baselines.begin(), baselines.end(), [&](const Baseline& one) {
    return std::abs(one.log_time - usual) <= bound;
  });
  if (usual_one == baselines.begin() || usual_one == baselines.end()) return std::nullopt;
  const double until_ns = static_cast<double>(usual_one->start_ns);
  if (until_ns > kLongestWarmUp * static_cast<double>(session_end_ns)) return std::nullopt;
  WarmUp found;
  found.until_ns = usual_one->start_ns;
  found.rate = std::exp(usual - baselines.front().log_time);
  return found;
}

template <typename Rows>
void LeaveOut(const WarmUp& warm_up, Rows* rows) {
  for (auto& row : *rows) {
    if (warm_up.Has(row.session, row.start_ns, row.block)) LeaveOutPoint(warm_up.point, &row);
  }
}

}  // namespace

void LeaveOutWarmUps(ExperimentTable* table) {
  std::map<std::pair<uint64_t, size_t>, std::vector<Baseline>> baselines;
  std::map<uint64_t, uint64_t> ends_ns;
  for (const ExperimentRow& row : table->experiments) {
    uint64_t& end_ns = ends_ns[row.session];
    end_ns = std::max(end_ns, row.start_ns + row.elapsed_ns);
    if (row.block != 0 || row.taints != 0 || row.virtual_speedup != 0) continue;
    for (const PointSeen& seen : row.points) {
      if (table->points[seen.point].kind == profile::PROGRESS_POINT_KIND_END_TO_END) continue;
      if (seen.visits <= 0 || seen.duration <= 0) continue;
      baselines[{row.session, seen.point}].push_back(
          {row.start_ns, std::log(seen.duration / seen.visits)});
    }
  }
  for (auto& [key, of_point] : baselines) {
    std::optional<WarmUp> found = FindWarmUp(std::move(of_point), ends_ns[key.first]);
    if (!found.has_value()) continue;
    found->session = key.first;
    found->point = key.second;
    LeaveOut(*found, &table->experiments);
    LeaveOut(*found, &table->bare);
    LeaveOut(*found, &table->controls);
    table->warm_ups.push_back(*found);
  }
}

}  // namespace coz::report
