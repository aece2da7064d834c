#include "coz/report/statistics/curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "coz/report/statistics/statistics.h"
#include "coz/report/statistics/student.h"

namespace coz::report {
namespace {

constexpr double kGrid = 0.05;
constexpr double k95 = 1.959963985;  // standard errors to either side
constexpr double kGridOfBends = 0.01;
// The widest interval of a bend's place that is one figure.
constexpr double kWidthOfPlace = 0.15;
// With fewer experiments, or fewer speedups on either side of a bend, none is proven, or none is
// looked for at all.
struct Enough {
  size_t observations;
  size_t speedups_beside;
};
constexpr Enough kToProve = {12, 3};
constexpr Enough kToSuspect = {8, 2};
// How many standard errors the two slopes must differ by. Some ten places are tried, so 1.96 would
// find a bend in every third straight line; this one finds it in fewer than one of fifty
// (curve_test.cc).
constexpr double kProof = 3.6;

using Vec3 = std::array<double, 3>;
using Mat3 = std::array<Vec3, 3>;

double Dot(const Vec3& x, const Vec3& y) { return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]; }

Vec3 Times(const Mat3& m, const Vec3& x) { return {Dot(m[0], x), Dot(m[1], x), Dot(m[2], x)}; }

std::optional<Mat3> Inverse(const Mat3& m) {
  const auto minor = [&m](size_t r, size_t c) {
    const size_t r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
    return m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1];
  };
  const double determinant = m[0][0] * minor(0, 0) + m[0][1] * minor(0, 1) + m[0][2] * minor(0, 2);
  if (!(determinant > 1e-12 * m[0][0] * m[1][1] * m[2][2])) return std::nullopt;
  Mat3 inverse = {};
  for (size_t r = 0; r < 3; ++r) {
    for (size_t c = 0; c < 3; ++c) inverse[c][r] = minor(r, c) / determinant;
  }
  return inverse;
}

// The virtual speedup that the pauses made, where that is known.
double Achieved(const RateObservation& o) {
  return o.achieved_virtual_speedup >= 0 ? o.achieved_virtual_speedup : o.virtual_speedup;
}

// Experiments of one speedup, pooled: all that least squares need to know of them.
struct Pool {
  double s = 0;
  double weight = 0;
  double mean = 0;  // of p

  void Add(const RateObservation& o) {
    const double w = o.visits * o.weight;
    weight += w;
    s += (Achieved(o) - s) * w / weight;
    mean += (o.duration / o.visits - mean) * w / weight;
  }
};

std::vector<Pool> PoolBySpeedup(const std::vector<RateObservation>& observations) {
  std::map<int, Pool> pools;
  for (const RateObservation& o : observations) {
    if (o.visits * o.weight > 0) pools[SpeedupKey(o.virtual_speedup)].Add(o);
  }
  std::vector<Pool> ascending;
  ascending.reserve(pools.size());
  for (const auto& [key, pool] : pools) ascending.push_back(pool);
  return ascending;
}

// Least squares of p over (1, min(s,k), max(s-k,0)), with visits as weights.
class BentFit {
 public:
  BentFit(const std::vector<Pool>& pools, double bend) : bend_(bend) {
    Mat3 normal = {};
    Vec3 right = {};
    for (const Pool& pool : pools) {
      const Vec3 x = Regressors(pool.s);
      for (size_t i = 0; i < 3; ++i) {
        for (size_t j = 0; j < 3; ++j) normal[i][j] += pool.weight * x[i] * x[j];
        right[i] += pool.weight * x[i] * pool.mean;
      }
    }
    const std::optional<Mat3> inverse = Inverse(normal);
    if (!inverse.has_value()) return;
    inverse_ = *inverse;
    coefficients_ = Times(inverse_, right);
    ok_ = coefficients_[0] > 0;
    for (const Pool& pool : pools) {
      squares_ += pool.weight * std::pow(pool.mean - Dot(coefficients_, Regressors(pool.s)), 2);
    }
  }

  bool ok() const { return ok_; }
  double bend() const { return bend_; }
  // Without the scatter within pools, which is the same for every bend.
  double squares() const { return squares_; }

  // Errors are known only after this.
  void AddScatter(const std::vector<RateObservation>& observations) {
    for (const RateObservation& o : observations) {
      rows_.push_back({Regressors(Achieved(o)), o.duration / o.visits, o.visits * o.weight});
    }
    // The sandwich's filling, once for all gradients.
    for (const Row& row : rows_) {
      const double leverage = row.weight * Dot(row.x, Times(inverse_, row.x));
      const double residual = Residual(row) / std::max(1 - leverage, 0.05);
      for (size_t i = 0; i < 3; ++i) {
        for (size_t j = 0; j < 3; ++j) {
          scatter_[i][j] += std::pow(row.weight * residual, 2) * row.x[i] * row.x[j];
        }
      }
    }
  }

  double ValueAt(double s) const {
    return 1 - Dot(coefficients_, Regressors(s)) / coefficients_[0];
  }

  // 1 - p(s)/p_0.
  Estimate At(double s) const {
    const Vec3 x = Regressors(s);
    const double ratio = Dot(coefficients_, x) / coefficients_[0];
    Vec3 gradient;
    for (size_t i = 0; i < 3; ++i) gradient[i] = -x[i] / coefficients_[0];
    gradient[0] += ratio / coefficients_[0];
    return WithInterval(1 - ratio, gradient);
  }

  Estimate Slope(bool after) const {
    const size_t i = after ? 2 : 1;
    Vec3 gradient = {coefficients_[i] / std::pow(coefficients_[0], 2), 0, 0};
    gradient[i] = -1 / coefficients_[0];
    return WithInterval(-coefficients_[i] / coefficients_[0], gradient);
  }

  // The error of a row of weight 1, squared, by the distances of all rows from this fit.
  double SquaresOfError() const {
    double sum = 0;
    for (const Row& row : rows_) sum += row.weight * std::pow(Residual(row), 2);
    return sum / FreedomOfPlace();
  }
  // By how much the squares of another bend may exceed these, if that is the true one.
  double SquaresOfChance() const {
    return SquaresOfError() * std::pow(StudentQuantile(FreedomOfPlace()), 2);
  }

  // How many standard errors the slopes differ by, after an allowance for few observations.
  double Proof() const {
    const double error = Error({0, 1, -1});
    if (!(error > 0)) return 0;
    const double t = std::fabs(coefficients_[1] - coefficients_[2]) / error;
    return t * k95 / StudentQuantile(DegreesOfFreedom());
  }

 private:
  struct Row {
    Vec3 x;
    double p, weight;
  };

  Vec3 Regressors(double s) const { return {1, std::min(s, bend_), std::max(s - bend_, 0.0)}; }
  double Residual(const Row& row) const { return row.p - Dot(coefficients_, row.x); }
  double DegreesOfFreedom() const { return static_cast<double>(rows_.size()) - 3; }
  // The bend was sought, too.
  double FreedomOfPlace() const { return DegreesOfFreedom() - 1; }

  double Error(const Vec3& gradient) const {
    const Vec3 direction = Times(inverse_, gradient);
    return std::sqrt(std::max(0.0, Dot(direction, Times(scatter_, direction))));
  }

  Estimate WithInterval(double value, const Vec3& gradient) const {
    const double half = StudentQuantile(DegreesOfFreedom()) * Error(gradient);
    return {value, value - half, value + half};
  }

  const double bend_;
  std::vector<Row> rows_;
  Mat3 inverse_ = {};
  Mat3 scatter_ = {};
  Vec3 coefficients_ = {};
  double squares_ = 0;
  bool ok_ = false;
};

// Other than 0, ascending.
std::vector<double> Tried(const std::vector<Pool>& pools) {
  std::vector<double> tried;
  for (const Pool& pool : pools) {
    if (SpeedupKey(pool.s) > 0) tried.push_back(pool.s);
  }
  return tried;
}

// Speedups with enough others below and above.
std::vector<double> PossibleBends(const std::vector<Pool>& pools, size_t beside) {
  const std::vector<double> tried = Tried(pools);
  std::vector<double> bends;
  for (size_t i = beside; i + beside <= tried.size(); ++i) {
    bends.push_back(tried[i - 1]);
  }
  return bends;
}

// Whether it is proven or not.
std::optional<BentFit> BestBend(const std::vector<Pool>& pools,
                                const std::vector<RateObservation>& observations,
                                const Enough& enough) {
  if (observations.size() < enough.observations) return std::nullopt;
  std::optional<BentFit> best;
  for (double bend : PossibleBends(pools, enough.speedups_beside)) {
    BentFit fit(pools, bend);
    if (!fit.ok() || (best.has_value() && best->squares() <= fit.squares())) continue;
    best.emplace(std::move(fit));
  }
  if (!best.has_value()) return std::nullopt;
  best->AddScatter(observations);
  return best;
}

// How likely a bend is that is not proven, against a straight line: by the Bayesian information
// criterion, with the bend's place and its second slope as what it has more. Small weights are no
// evidence.
double WeightOf(const BentFit& bent, size_t observations) {
  constexpr double kLeast = 0.05;
  constexpr double kOfSearch = 1.5;  // the best of some ten places looks better than it is
  const double evidence =
      std::pow(bent.Proof(), 2) - kOfSearch - 2 * std::log(static_cast<double>(observations));
  const double weight = 1 / (1 + std::exp(-evidence / 2));
  return weight < kLeast ? 0 : weight;
}

// Fits whose bend is at every hundredth between the first speedup and the last.
std::vector<BentFit> FitEverywhere(const std::vector<Pool>& pools) {
  constexpr double kFar = 2;  // a corrupt profile may have achieved anything
  const std::vector<double> tried = Tried(pools);
  const double last = std::min(tried.back(), kFar);
  const auto steps =
      static_cast<int>(std::ceil(std::max(0.0, last - tried.front()) / kGridOfBends));
  std::vector<BentFit> fits;
  fits.reserve(static_cast<size_t>(steps));
  for (int i = 1; i < steps; ++i) {
    BentFit fit(pools, tried.front() + i * kGridOfBends);
    if (fit.ok()) fits.push_back(std::move(fit));
  }
  return fits;
}

double LeastSquares(const BentFit& best, const std::vector<BentFit>& fits) {
  double least = best.squares();
  for (const BentFit& fit : fits) least = std::min(least, fit.squares());
  return least;
}

// The band of the best fit, with what other places of the bend make of it, as likely as they are.
Estimate OverPlaces(const BentFit& best, const std::vector<BentFit>& fits, double s) {
  const double error = 2 * best.SquaresOfError();
  Estimate at = best.At(s);
  const double least = LeastSquares(best, fits);
  double weights = 0;
  double squares = 0;
  for (const BentFit& fit : fits) {
    const double weight = error > 0 ? std::exp((least - fit.squares()) / error) : 0;
    weights += weight;
    squares += weight * std::pow(fit.ValueAt(s) - at.value, 2);
  }
  if (!(weights > 0)) return at;
  const double between = k95 * std::sqrt(squares / weights);
  at.low = at.value - std::hypot(at.value - at.low, between);
  at.high = at.value + std::hypot(at.high - at.value, between);
  return at;
}

// Sets the interval. A place that lies between speedups, or beside which fewer were tried than the
// proof of a bend needs, may still be the true one.
void FindPlaces(const std::vector<Pool>& pools, const BentFit& best,
                const std::vector<BentFit>& fits, Bend* bend) {
  const std::vector<double> tried = Tried(pools);
  const double first = tried.front();
  const double last = tried.back();
  const double most = LeastSquares(best, fits) + best.SquaresOfChance();
  bend->low = bend->high = bend->virtual_speedup;
  for (const BentFit& fit : fits) {
    if (fit.squares() > most) continue;
    bend->low = std::min(bend->low, fit.bend() - kGridOfBends);
    bend->high = std::max(bend->high, fit.bend() + kGridOfBends);
  }
  if (bend->low <= first) bend->low = 0;
  bend->high = std::min(bend->high, last);
}

Estimate Wedge(const Estimate& slope, double s) {
  // An unknown bound stays unknown, but at the origin everything is known.
  if (s == 0) return {0, 0, 0};
  return {slope.value * s, slope.low * s, slope.high * s};
}

// Two that are equal may be infinite.
double Mix(double a, double b, double share) { return a == b ? a : a + (b - a) * share; }

// Of two that exclude each other. Half widths are 1.96 standard errors; to be right about which one
// it is, is a part of the error.
Estimate Mix(const Estimate& a, const Estimate& b, double weight_of_b) {
  const double value = Mix(a.value, b.value, weight_of_b);
  const double between =
      k95 * std::sqrt(weight_of_b * (1 - weight_of_b)) * std::fabs(a.value - b.value);
  const auto half = [&](double of_a, double of_b) {
    return std::hypot(std::sqrt(Mix(of_a * of_a, of_b * of_b, weight_of_b)), between);
  };
  return {value, value - half(a.value - a.low, b.value - b.low),
          value + half(a.high - a.value, b.high - b.value)};
}

Estimate Between(const CurvePoint& a, const CurvePoint& b, double s) {
  const double share = (s - a.virtual_speedup) / (b.virtual_speedup - a.virtual_speedup);
  return {Mix(a.program_speedup.value, b.program_speedup.value, share),
          Mix(a.program_speedup.low, b.program_speedup.low, share),
          Mix(a.program_speedup.high, b.program_speedup.high, share)};
}

// As the curve's last piece goes on. No bound comes closer than that of a wedge does.
Estimate Beyond(const CurvePoint& a, const CurvePoint& last, double s) {
  Estimate at = Between(a, last, s);
  const Estimate& end = last.program_speedup;
  const double farther = s / last.virtual_speedup;
  at.low = std::min(at.low, at.value - farther * (end.value - end.low));
  at.high = std::max(at.high, at.value + farther * (end.high - end.value));
  return at;
}

}  // namespace

bool IsPlaced(const Bend& bend) { return bend.high - bend.low <= kWidthOfPlace; }

Estimate Curve::At(double virtual_speedup) const {
  if (points.empty()) return {0, 0, 0};
  const auto above = std::find_if(points.begin(), points.end(), [&](const CurvePoint& p) {
    return p.virtual_speedup >= virtual_speedup;
  });
  if (above == points.begin()) return above->program_speedup;
  if (above != points.end()) return Between(*(above - 1), *above, virtual_speedup);
  if (points.size() == 1) return points.back().program_speedup;
  return Beyond(*(points.end() - 2), points.back(), virtual_speedup);
}

Curve FitCurve(const std::vector<RateObservation>& observations, const Estimate& slope) {
  Curve curve;
  double largest = 0;
  for (const RateObservation& o : observations) {
    largest = std::max(largest, std::min(o.virtual_speedup, 1.0));
  }
  if (SpeedupKey(largest) == 0) return curve;
  const std::vector<Pool> pools = PoolBySpeedup(observations);
  std::optional<BentFit> bent = BestBend(pools, observations, kToProve);
  std::vector<BentFit> fits;
  const bool is_proven = bent.has_value() && bent->Proof() >= kProof;
  if (is_proven) {
    curve.bend = {bent->bend(), 0, 1, bent->Slope(false), bent->Slope(true)};
    fits = FitEverywhere(pools);
    FindPlaces(pools, *bent, fits, &*curve.bend);
  } else {
    auto suspected = BestBend(pools, observations, kToSuspect);
    if (suspected.has_value()) {
      bent.emplace(std::move(*suspected));
      curve.weight_of_bent = WeightOf(*bent, observations.size());
    }
  }
  const int steps = static_cast<int>(std::ceil(largest / kGrid - 1e-9));
  for (int i = 0; i <= steps; ++i) {
    const double s = std::min(i * kGrid, largest);
    const Estimate straight = Wedge(slope, s);
    if (is_proven) {
      curve.points.push_back({s, OverPlaces(*bent, fits, s)});
    } else if (curve.weight_of_bent == 0) {
      curve.points.push_back({s, straight});
    } else {
      curve.points.push_back({s, Mix(straight, bent->At(s), curve.weight_of_bent)});
    }
  }
  return curve;
}

}  // namespace coz::report
