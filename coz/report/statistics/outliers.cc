#include "coz/report/statistics/outliers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "coz/report/statistics/median.h"

namespace coz::report {
namespace {

// Fewer of one speedup do not tell which of them is odd.
constexpr size_t kLeastRepeats = 5;
constexpr size_t kLeastDistances = 10;
// On each side.
constexpr size_t kNeighbours = 2;
constexpr double kDeviations = 6;
constexpr double kLeastDistance = 0.05;
// At most one in so many of a speedup.
constexpr size_t kMostParts = 8;

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

// Ratios of times to the levels of their blocks, and how far each is from those like it.
class Distances {
 public:
  explicit Distances(const std::vector<RateObservation>& observations)
      : observations_(observations), levels_(Levels(observations)), of_(observations.size()) {}

  bool IsComparable(size_t i) const { return !observations_[i].is_sum && Level(i) > 0; }

  // Of one speedup.
  void AddRepeats(const std::vector<size_t>& group) {
    std::vector<double> ratios;
    ratios.reserve(group.size());
    for (size_t i : group) ratios.push_back(Ratio(i));
    const double median = Median(std::move(ratios));
    for (size_t i : group) Add(i, median);
  }

  // In the order of speedups. Each is compared with as many below as above it, so the first and the
  // last are compared with none: the effect is larger at one side, and smaller at the other.
  void AddNeighbours(const std::vector<size_t>& group) {
    for (size_t k = kNeighbours; k + kNeighbours < group.size(); ++k) {
      std::vector<double> ratios;
      for (size_t n = k - kNeighbours; n <= k + kNeighbours; ++n) {
        if (n != k) ratios.push_back(Ratio(group[n]));
      }
      std::sort(ratios.begin(), ratios.end());
      Add(group[k], (ratios[kNeighbours - 1] + ratios[kNeighbours]) / 2);
    }
  }

  double Of(size_t i) const { return of_[i]; }
  // The one from which on an experiment is an outlier. Infinite where too few tell.
  double Limit() const {
    if (all_.size() < kLeastDistances) return std::numeric_limits<double>::infinity();
    return std::max(kLeastDistance, kDeviations * DeviationAround(0, all_));
  }

 private:
  double Level(size_t i) const { return levels_[static_cast<size_t>(observations_[i].block)]; }
  double Ratio(size_t i) const { return TimePerVisit(observations_[i]) / Level(i); }

  void Add(size_t i, double median) {
    const RateObservation& o = observations_[i];
    // The elapsed time is off, and the duration may be a small part of it.
    const double stretch = std::max(1.0, o.elapsed / std::max(o.duration, 1e-9));
    const double unit = std::max(Ratio(i), 1e-9) * stretch;
    of_[i] = std::fabs(Ratio(i) - median) / unit;
    all_.push_back(of_[i]);
  }

  const std::vector<RateObservation>& observations_;
  const std::vector<double> levels_;
  std::vector<double> of_;  // by observation; 0: compared with none
  std::vector<double> all_;
};

// Those of a group beyond the limit, if they are few enough.
void AppendOdd(const std::vector<size_t>& group, const Distances& distances, double limit,
               std::vector<size_t>* outliers) {
  std::vector<size_t> odd;
  for (size_t i : group) {
    if (distances.Of(i) > limit) odd.push_back(i);
  }
  if (odd.size() * kMostParts > group.size()) return;
  outliers->insert(outliers->end(), odd.begin(), odd.end());
}

}  // namespace

std::vector<size_t> FindOutliers(const std::vector<RateObservation>& observations) {
  Distances by_repeats(observations);
  Distances by_neighbours(observations);
  std::map<int, std::vector<size_t>> groups;  // by speedup
  for (size_t i = 0; i < observations.size(); ++i) {
    if (!by_repeats.IsComparable(i)) continue;
    groups[SpeedupKey(observations[i].virtual_speedup)].push_back(i);
  }
  std::vector<size_t> rare;
  for (const auto& [speedup, group] : groups) {
    if (group.size() >= kLeastRepeats) {
      by_repeats.AddRepeats(group);
    } else if (speedup != 0) {
      rare.insert(rare.end(), group.begin(), group.end());
    }
  }
  by_neighbours.AddNeighbours(rare);
  std::vector<size_t> outliers;
  const double limit = by_repeats.Limit();
  for (const auto& [speedup, group] : groups) {
    if (group.size() >= kLeastRepeats) AppendOdd(group, by_repeats, limit, &outliers);
  }
  AppendOdd(rare, by_neighbours, by_neighbours.Limit(), &outliers);
  std::sort(outliers.begin(), outliers.end());
  return outliers;
}

}  // namespace coz::report
