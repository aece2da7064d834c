#include "coz/report/analysis/sampling_slowdown.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/timed_observation.h"
#include "coz/report/statistics/time_blocks.h"

namespace coz::report {
namespace {

constexpr int kLeastStretches = 4;

template <typename Row>
const PointSeen* Usable(const Row& row, size_t point, uint64_t min_visits) {
  if (row.taints != 0) return nullptr;
  const auto seen = std::find_if(row.points.begin(), row.points.end(),
                                 [point](const PointSeen& s) { return s.point == point; });
  if (seen == row.points.end() || seen->duration <= 0) return nullptr;
  return seen->least_visits >= min_visits ? &*seen : nullptr;
}

// Treats a bare interval as a speedup of 100 %: its slope is the figure sought.
template <typename Row>
TimedObservation Observe(const Row& row, const PointSeen& seen, bool bare) {
  const RateObservation o = {bare ? 1.0 : 0.0, seen.duration, seen.visits};
  return AtItsTime(row, o);
}

}  // namespace

std::optional<SamplingSlowdown> EstimateSamplingSlowdown(const ExperimentTable& table, size_t point,
                                                         uint64_t min_visits) {
  std::vector<TimedObservation> observations;
  int stretches = 0;
  for (const BareRow& row : table.bare) {
    const PointSeen* seen = Usable(row, point, min_visits);
    if (seen == nullptr) continue;
    observations.push_back(Observe(row, *seen, true));
    stretches += static_cast<int>(row.pooled);
  }
  if (stretches < kLeastStretches) return std::nullopt;
  for (const ExperimentRow& row : table.experiments) {
    const PointSeen* seen = row.IsBaseline() ? Usable(row, point, min_visits) : nullptr;
    if (seen == nullptr) continue;
    observations.push_back(Observe(row, *seen, false));
  }
  const std::optional<SlopeEstimate> share = EstimateSlope(InBlocks(std::move(observations)));
  if (!share.has_value() || !std::isfinite(share->value)) return std::nullopt;
  // Sampling cannot take more than all of the time.
  const auto possible = [](double part) { return std::min(part, 1.0); };
  return SamplingSlowdown{{possible(share->value), possible(share->low), possible(share->high)},
                          stretches};
}

double LeastSlowdownBySampling(const profile::Profile& profile, uint64_t session) {
  ExperimentTable table = BuildExperimentTable(profile);
  const auto is_of_another = [session](const auto& row) { return row.session != session; };
  table.bare.erase(std::remove_if(table.bare.begin(), table.bare.end(), is_of_another),
                   table.bare.end());
  double least = 0;
  for (size_t point = 0; point < table.points.size(); ++point) {
    const auto slowdown = EstimateSamplingSlowdown(table, point, AnalysisOptions().min_visits);
    if (slowdown.has_value()) least = std::max(least, slowdown->share.low);
  }
  return least;
}

}  // namespace coz::report
