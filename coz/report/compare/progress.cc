#include "coz/report/compare/progress.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "coz/report/statistics/student.h"

namespace coz::report {
namespace {

struct Share {
  double numerator;
  double visits;
};

std::optional<Estimate> Ratio(const std::vector<Share>& shares) {
  double numerator = 0;
  double visits = 0;
  for (const Share& share : shares) {
    numerator += share.numerator;
    visits += share.visits;
  }
  const double n = static_cast<double>(shares.size());
  if (n < 2 || visits <= 0) return std::nullopt;
  Estimate ratio;
  ratio.value = numerator / visits;
  double squares = 0;
  for (const Share& share : shares) {
    squares += std::pow(share.numerator - ratio.value * share.visits, 2);
  }
  const double error = std::sqrt(squares * n / (n - 1)) / visits;
  const double half = StudentQuantile(n - 1) * error;
  ratio.low = ratio.value - half;
  ratio.high = ratio.value + half;
  return ratio;
}

// Calls `visit(row, seen)` for each usable baseline that saw the point.
template <typename Visit>
void ForEachBaseline(const AnalyzedProfile& whole, size_t point, Visit visit) {
  for (const ExperimentRow& row : whole.table.experiments) {
    if (!row.IsBaseline() || row.taints != 0) continue;
    for (const PointSeen& seen : row.points) {
      if (seen.point == point && seen.visits > 0) visit(row, seen);
    }
  }
}

}  // namespace

std::optional<Estimate> TimePerVisit(const AnalyzedProfile& whole, size_t point) {
  std::vector<Share> shares;
  ForEachBaseline(whole, point, [&](const ExperimentRow&, const PointSeen& seen) {
    shares.push_back({seen.duration, seen.visits});
  });
  return Ratio(shares);
}

std::optional<Estimate> CpuTimePerVisit(const AnalyzedProfile& whole, size_t point, size_t unit) {
  absl::flat_hash_map<uint64_t, double> periods;
  for (const profile::Session& session : whole.profile.session()) {
    periods[session.id()] = static_cast<double>(session.sampling_period_ns());
  }
  std::vector<Share> shares;
  ForEachBaseline(whole, point, [&](const ExperimentRow& row, const PointSeen& seen) {
    const auto period = periods.find(row.session);
    if (period == periods.end()) return;
    shares.push_back(
        {static_cast<double>(row.unit_samples.Of(unit)) * period->second, seen.visits});
  });
  return Ratio(shares);
}

Estimate Gain(const Estimate& before, const Estimate& after) {
  Estimate gain;
  const double ratio = after.value / before.value;
  gain.value = 1 - ratio;
  const double half_before = (before.high - before.low) / 2 / before.value;
  const double half_after = after.value == 0 ? 0 : (after.high - after.low) / 2 / after.value;
  const double half = std::fabs(ratio) * std::hypot(half_before, half_after);
  gain.low = gain.value - half;
  gain.high = gain.value + half;
  return gain;
}

}  // namespace coz::report
