#include "coz/report/statistics/outliers.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace coz::report {
namespace {

// Fewer of one speedup do not tell which of them is odd.
constexpr size_t kLeastRepeats = 5;
constexpr size_t kLeastDistances = 10;
constexpr double kDeviations = 6;
constexpr double kLeastDistance = 0.05;
// At most one in so many of a speedup.
constexpr size_t kMostParts = 8;
constexpr double kDeviationOfMedian =
    1.4826;  // the standard deviation of a normal distribution by its median distance

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double TimePerVisit(const RateObservation& o) { return o.duration / o.visits; }

// By block; 0 without a baseline.
std::vector<double> Levels(const std::vector<RateObservation>& observations) {
  std::vector<std::vector<double>> baselines(BlockCount(observations));
  for (const RateObservation& o : observations) {
    if (IsBaseline(o)) baselines[static_cast<size_t>(o.block)].push_back(TimePerVisit(o));
  }
  std::vector<double> levels;
  levels.reserve(baselines.size());
  for (std::vector<double>& values : baselines) {
    levels.push_back(values.empty() ? 0 : Median(std::move(values)));
  }
  return levels;
}

}  // namespace

std::vector<size_t> FindOutliers(const std::vector<RateObservation>& observations) {
  const std::vector<double> levels = Levels(observations);
  std::map<int, std::vector<size_t>> repeats;  // by speedup
  for (size_t i = 0; i < observations.size(); ++i) {
    const RateObservation& o = observations[i];
    if (!o.is_sum && levels[static_cast<size_t>(o.block)] > 0) {
      repeats[SpeedupKey(o.virtual_speedup)].push_back(i);
    }
  }
  std::vector<double> distances(observations.size());
  std::vector<double> all;
  for (const auto& [speedup, group] : repeats) {
    if (group.size() < kLeastRepeats) continue;
    std::vector<double> ratios;
    for (size_t i : group) {
      const RateObservation& o = observations[i];
      ratios.push_back(TimePerVisit(o) / levels[static_cast<size_t>(o.block)]);
    }
    const double median = Median(ratios);
    for (size_t k = 0; k < group.size(); ++k) {
      const RateObservation& o = observations[group[k]];
      // The elapsed time is off, and the duration may be a small part of it.
      const double stretch = std::max(1.0, o.elapsed / std::max(o.duration, 1e-9));
      const double unit = std::max(ratios[k], 1e-9) * stretch;
      distances[group[k]] = std::fabs(ratios[k] - median) / unit;
      all.push_back(distances[group[k]]);
    }
  }
  if (all.size() < kLeastDistances) return {};
  const double limit =
      std::max(kLeastDistance, kDeviations * kDeviationOfMedian * Median(std::move(all)));
  std::vector<size_t> outliers;
  for (const auto& [speedup, group] : repeats) {
    std::vector<size_t> odd;
    for (size_t i : group) {
      if (distances[i] > limit) odd.push_back(i);
    }
    if (odd.size() * kMostParts <= group.size()) {
      outliers.insert(outliers.end(), odd.begin(), odd.end());
    }
  }
  std::sort(outliers.begin(), outliers.end());
  return outliers;
}

}  // namespace coz::report
