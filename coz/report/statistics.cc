#include "coz/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "coz/report/multiple_testing.h"

namespace coz {
namespace {

// Pairs of observations are looked at one by one up to this many; beyond, what they share no longer matters.
constexpr size_t kExactPairs = 400;

// Symmetric 2×2 matrix.
struct Sym2 {
  double a = 0, b = 0, d = 0;

  void AddOuter(double x, double weight) {
    a += weight;
    b += weight * x;
    d += weight * x * x;
  }
  double Determinant() const { return a * d - b * b; }
  Sym2 Inverse() const {
    const double det = Determinant();
    return {d / det, -b / det, a / det};
  }
};

struct Vec2 {
  double u = 0, v = 0;
};

Vec2 operator*(const Sym2& m, const Vec2& x) {
  return {m.a * x.u + m.b * x.v, m.b * x.u + m.d * x.v};
}
double Dot(const Vec2& x, const Vec2& y) { return x.u * y.u + x.v * y.v; }

// Weighted line through (s, p), with the covariance of its residuals under the working model that an experiment's error is
// proportional to its p: so is error of scheduling and placement, and so is that of counting visits.
class LineFit {
 public:
  explicit LineFit(const std::vector<RateObservation>& observations) {
    Sym2 normal;
    Vec2 right;
    for (const RateObservation& o : observations) {
      const Point point = {o.virtual_speedup, o.duration / o.visits, o.visits * o.weight, 0};
      points_.push_back(point);
      normal.AddOuter(point.s, point.weight);
      right.u += point.weight * point.p;
      right.v += point.weight * point.p * point.s;
    }
    if (normal.Determinant() <= 1e-12 * normal.a * normal.d) return;
    inverse_ = normal.Inverse();
    coefficients_ = inverse_ * right;
    if (coefficients_.u <= 0) return;
    for (Point& point : points_) {
      // Near complete speedup p can come out as 0 or less, but the error of an experiment is never 0.
      const double fitted = std::max(Fitted(point), 0.05 * coefficients_.u);
      point.variance = fitted * fitted;
      middle_.AddOuter(point.s, point.weight * point.weight * point.variance);
    }
    ok_ = true;
  }

  bool ok() const { return ok_; }
  size_t size() const { return points_.size(); }
  double Slope() const { return -coefficients_.v / coefficients_.u; }

  // Robust standard error of the slope, and its degrees of freedom.
  double SlopeError(double* df) const {
    const Vec2 gradient = inverse_ * Vec2{coefficients_.v / (coefficients_.u * coefficients_.u),
                                          -1 / coefficients_.u};
    std::vector<double> quadratic(size());
    double variance = 0;
    double trace = 0;
    double trace_of_square = 0;
    for (size_t i = 0; i < size(); ++i) {
      const Point& point = points_[i];
      const double influence = Dot(gradient, {1, point.s}) * point.weight;
      const double residual_variance = ResidualCovariance(i, i);
      if (residual_variance < 1e-9 * point.variance) continue;
      quadratic[i] = influence * influence * point.variance / residual_variance;
      variance += quadratic[i] * Residual(i) * Residual(i);
      trace += quadratic[i] * residual_variance;
      trace_of_square += std::pow(quadratic[i] * residual_variance, 2);
    }
    for (size_t i = 0; size() <= kExactPairs && i < size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        trace_of_square += 2 * quadratic[i] * quadratic[j] * std::pow(ResidualCovariance(i, j), 2);
      }
    }
    *df = trace_of_square > 0 ? trace * trace / trace_of_square : 0;
    return std::sqrt(variance);
  }

  // Squared residual as a share of fitted p, and what the working model expects of it when the relative variance is 1.
  double RelativeSquare(size_t i) const { return Residual(i) * Residual(i) / points_[i].variance; }
  double ExpectedRelativeSquare(size_t i) const {
    return ResidualCovariance(i, i) / points_[i].variance;
  }

 private:
  struct Point {
    double s, p, weight, variance;
  };

  double Fitted(const Point& point) const { return coefficients_.u + coefficients_.v * point.s; }
  double Residual(size_t i) const { return points_[i].p - Fitted(points_[i]); }

  // Entry of (I-H)·Ω·(I-H)', with H the hat matrix and Ω the diagonal of variances.
  double ResidualCovariance(size_t i, size_t j) const {
    const Point& x = points_[i];
    const Point& y = points_[j];
    const Vec2 ax = inverse_ * Vec2{1, x.s};
    const Vec2 ay = inverse_ * Vec2{1, y.s};
    const double hat_ij = Dot(ax, {1, y.s}) * y.weight;
    const double hat_ji = Dot(ay, {1, x.s}) * x.weight;
    return (i == j ? x.variance : 0) - hat_ij * y.variance - hat_ji * x.variance +
           Dot(ax, middle_ * ay);
  }

  std::vector<Point> points_;
  Sym2 inverse_;
  Sym2 middle_;
  Vec2 coefficients_;
  bool ok_ = false;
};

// Experiments of one speedup, pooled.
struct Pool {
  double duration = 0;
  double visits = 0;
  double weighted_visits = 0;
  double squares = 0;  // of weighted visits
  int experiments = 0;

  double Rate() const { return duration / weighted_visits; }
  // How many equal experiments the pool is worth.
  double EffectiveSize() const { return weighted_visits * weighted_visits / squares; }
};

std::map<int, Pool> PoolBySpeedup(const std::vector<RateObservation>& observations) {
  std::map<int, Pool> pools;
  for (const RateObservation& o : observations) {
    Pool& pool = pools[SpeedupKey(o.virtual_speedup)];
    pool.duration += o.duration * o.weight;
    pool.visits += o.visits;
    pool.weighted_visits += o.visits * o.weight;
    pool.squares += std::pow(o.visits * o.weight, 2);
    ++pool.experiments;
  }
  return pools;
}

// Relative variance of one experiment's p.
struct Noise {
  double sum = 0;
  double expected = 0;

  double Variance() const { return expected > 0 ? sum / expected : 0; }
};

struct NoiseModel {
  double baseline = 0;
  double baseline_df = 0;
  double other = 0;
  double other_df = 0;
};

Noise WithinPools(const std::vector<RateObservation>& observations,
                  const std::map<int, Pool>& pools, bool baseline) {
  Noise noise;
  for (const RateObservation& o : observations) {
    const int key = SpeedupKey(o.virtual_speedup);
    const Pool& pool = pools.at(key);
    if ((key == 0) != baseline || pool.Rate() <= 0) continue;
    const double relative = o.duration / o.visits / pool.Rate() - 1;
    noise.sum += o.weight * relative * relative;
    noise.expected += o.weight * (1 - o.visits * o.weight / pool.weighted_visits);
  }
  return noise;
}

Noise AroundLine(const std::vector<RateObservation>& observations, const LineFit& fit,
                 bool others_only) {
  Noise noise;
  for (size_t i = 0; i < observations.size(); ++i) {
    if (others_only && SpeedupKey(observations[i].virtual_speedup) == 0) continue;
    noise.sum += observations[i].weight * fit.RelativeSquare(i);
    noise.expected += observations[i].weight * fit.ExpectedRelativeSquare(i);
  }
  return noise;
}

// Repeats of a speedup tell its noise; most speedups have one experiment, so without enough repeats the distance from the
// line stands in. It overstates the noise where the truth is bent, which widens the interval.
NoiseModel EstimateNoise(const std::vector<RateObservation>& observations,
                         const std::map<int, Pool>& pools) {
  constexpr double kEnough = 4;
  const LineFit fit(observations);
  NoiseModel model;
  Noise others = WithinPools(observations, pools, false);
  if (others.expected < kEnough && fit.ok()) others = AroundLine(observations, fit, true);
  Noise baselines = WithinPools(observations, pools, true);
  if (baselines.expected < kEnough - 1) {
    Noise all = fit.ok() ? AroundLine(observations, fit, false) : others;
    baselines = all;
    if (others.expected < kEnough) others = all;
  }
  model.baseline = baselines.Variance();
  model.baseline_df = baselines.expected;
  model.other = others.Variance();
  model.other_df = others.expected;
  return model;
}

Estimate ProgramSpeedup(const Pool& baseline, const Pool& pool, const NoiseModel& noise) {
  const double ratio = pool.Rate() / baseline.Rate();
  const double from_pool = noise.other / pool.EffectiveSize();
  const double from_baseline = noise.baseline / baseline.EffectiveSize();
  Estimate estimate;
  estimate.value = 1 - ratio;
  const double variance = from_pool + from_baseline;
  if (noise.other_df < 1 || noise.baseline_df < 1) return estimate;
  double df = noise.other_df;
  if (variance > 0) {
    df = variance * variance /
         (from_pool * from_pool / noise.other_df +
          from_baseline * from_baseline / noise.baseline_df);
  }
  const double half = StudentQuantile(df) * std::fabs(ratio) * std::sqrt(variance);
  estimate.low = estimate.value - half;
  estimate.high = estimate.value + half;
  return estimate;
}

}  // namespace

double StudentQuantile(double df) {
  // Cornish-Fisher expansion around the normal quantile: within 0.1 % from 3 degrees of freedom, 1 % at 2.
  const double v = std::max(df, 2.0);
  constexpr double z = 1.959963985;
  constexpr double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, z9 = z7 * z * z;
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v) +
         (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * v * v * v * v);
}

int SpeedupKey(double virtual_speedup) {
  if (!(virtual_speedup >= 0)) return 0;
  return static_cast<int>(std::lround(std::min(virtual_speedup, 100.0) * 10000));
}

std::optional<SlopeEstimate> EstimateSlope(const std::vector<RateObservation>& observations) {
  const bool has_baseline =
      std::any_of(observations.begin(), observations.end(),
                  [](const RateObservation& o) { return SpeedupKey(o.virtual_speedup) == 0; });
  if (!has_baseline || observations.size() < 4) return std::nullopt;
  const LineFit fit(observations);
  if (!fit.ok()) return std::nullopt;
  double df = 0;
  const double error = fit.SlopeError(&df);
  const double half = StudentQuantile(df) * error;
  SlopeEstimate slope;
  slope.value = fit.Slope();
  slope.low = slope.value - half;
  slope.high = slope.value + half;
  slope.p_value = TwoSidedPValue(error > 0 ? slope.value / error : slope.value * 1e300, df);
  return slope;
}

std::vector<SpeedupEstimate> EstimateSpeedups(const std::vector<RateObservation>& observations) {
  const std::map<int, Pool> pools = PoolBySpeedup(observations);
  const auto baseline = pools.find(0);
  if (baseline == pools.end() || baseline->second.Rate() <= 0) return {};
  const NoiseModel noise = EstimateNoise(observations, pools);
  std::vector<SpeedupEstimate> result;
  for (const auto& [key, pool] : pools) {
    if (key == 0) continue;
    result.push_back({key / 10000.0, pool.experiments, pool.visits,
                      ProgramSpeedup(baseline->second, pool, noise), key / 10000.0});
  }
  return result;
}

}  // namespace coz
