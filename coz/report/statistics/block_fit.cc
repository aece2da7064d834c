#include "coz/report/statistics/block_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "coz/report/statistics/statistics.h"

namespace coz::report {
namespace {

// Pairs of the observations with the most influence are looked at one by one. What the others share
// hardly matters.
constexpr size_t kExactPairs = 64;
constexpr int kMaxSteps = 50;
// Near complete speedup p can come out as 0 or less, but the error of an experiment is never 0.
constexpr double kLeastFitted = 0.05;

}  // namespace

BlockFit::BlockFit(const std::vector<RateObservation>& observations) {
  Place(observations);
  for (int i = 0; i < kMaxSteps; ++i) {
    const double step = Step();
    if (!std::isfinite(step)) return;
    slope_ += step;
    SetLevels();
    if (std::fabs(step) < 1e-10 * (1 + std::fabs(slope_))) break;
  }
  if (!std::isfinite(Step())) return;
  FinishModel();
  ok_ = std::all_of(blocks_.begin(), blocks_.end(), [](const Block& b) { return b.level > 0; });
}

// Levels begin as those of the baselines.
void BlockFit::Place(const std::vector<RateObservation>& observations) {
  struct Baselines {
    double duration = 0;
    double visits = 0;
    size_t place = 0;
  };
  std::vector<Baselines> baselines(BlockCount(observations));
  for (const RateObservation& o : observations) {
    if (!IsBaseline(o)) continue;
    baselines[static_cast<size_t>(o.block)].duration += o.duration * o.weight;
    baselines[static_cast<size_t>(o.block)].visits += o.visits * o.weight;
  }
  for (Baselines& b : baselines) {
    b.place = blocks_.size();
    if (b.duration > 0) blocks_.push_back({b.duration / b.visits});
  }
  points_.reserve(observations.size());
  for (size_t i = 0; i < observations.size(); ++i) {
    const RateObservation& o = observations[i];
    const Baselines& b = baselines[static_cast<size_t>(o.block)];
    if (!(b.duration > 0)) continue;
    points_.push_back({i, b.place, AchievedSpeedup(o), o.duration / o.visits, o.visits * o.weight});
  }
}

void BlockFit::SetLevels() {
  std::vector<std::pair<double, double>> sums(blocks_.size());
  for (const Point& point : points_) {
    const double c = 1 - slope_ * point.x;
    sums[point.block].first += point.raw_weight * point.p * c;
    sums[point.block].second += point.raw_weight * c * c;
  }
  for (size_t b = 0; b < blocks_.size(); ++b) blocks_[b].level = sums[b].first / sums[b].second;
}

double BlockFit::Step() {
  std::vector<double> xc(blocks_.size());
  double largest = 0;
  for (Block& block : blocks_) block.cc = 0;
  for (Point& point : points_) {
    const double level = blocks_[point.block].level;
    point.weight = point.raw_weight * level;
    point.c = 1 - slope_ * point.x;
    point.e = point.p / level - point.c;
    blocks_[point.block].cc += point.weight * point.c * point.c;
    xc[point.block] += point.weight * point.x * point.c;
    largest += point.weight * point.x * point.x;
  }
  dd_ = 0;
  double de = 0;
  for (Point& point : points_) {
    point.d = point.x - point.c * xc[point.block] / blocks_[point.block].cc;
    dd_ += point.weight * point.d * point.d;
    de += point.weight * point.d * point.e;
  }
  if (!(dd_ > 1e-12 * largest)) return std::nan("");
  return -de / dd_;
}

void BlockFit::FinishModel() {
  vdd_ = 0;
  for (Point& point : points_) {
    point.variance = std::pow(std::max(point.c, kLeastFitted), 2);
    const double v = point.weight * point.weight * point.variance;
    Block& block = blocks_[point.block];
    block.vcc += v * point.c * point.c;
    block.vcd += v * point.c * point.d;
    vdd_ += v * point.d * point.d;
  }
}

double BlockFit::ResidualCovariance(size_t i, size_t j) const {
  const Point& x = points_[i];
  const Point& y = points_[j];
  const Block& bx = blocks_[x.block];
  const Block& by = blocks_[y.block];
  const bool together = x.block == y.block;
  const double hat = (together ? x.c * y.c / bx.cc : 0) + x.d * y.d / dd_;
  const double both = (together ? x.c * y.c * bx.vcc / (bx.cc * bx.cc) : 0) +
                      x.c * y.d * bx.vcd / (bx.cc * dd_) + x.d * y.c * by.vcd / (by.cc * dd_) +
                      x.d * y.d * vdd_ / (dd_ * dd_);
  return (i == j ? x.variance : 0) - hat * (x.weight * x.variance + y.weight * y.variance) + both;
}

double BlockFit::SlopeError(double* df) const {
  struct Term {
    size_t i;
    double quadratic;  // what the squared residual is multiplied by
    double share;      // of the variance expected
  };
  std::vector<Term> terms;
  double variance = 0;
  double trace = 0;
  double trace_of_square = 0;
  for (size_t i = 0; i < size(); ++i) {
    const Point& point = points_[i];
    const double residual_variance = ResidualCovariance(i, i);
    if (residual_variance < 1e-9 * point.variance) continue;
    const double influence = Influence(point);
    const double quadratic = influence * influence * point.variance / residual_variance;
    const double share = quadratic * residual_variance;
    variance += quadratic * point.e * point.e;
    trace += share;
    trace_of_square += share * share;
    terms.push_back({i, quadratic, share});
  }
  if (terms.size() > kExactPairs) {
    std::nth_element(terms.begin(), terms.begin() + kExactPairs, terms.end(),
                     [](const Term& a, const Term& b) { return a.share > b.share; });
    terms.resize(kExactPairs);
  }
  for (size_t a = 0; a < terms.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const double covariance = ResidualCovariance(terms[a].i, terms[b].i);
      trace_of_square += 2 * terms[a].quadratic * terms[b].quadratic * covariance * covariance;
    }
  }
  *df = trace_of_square > 0 ? trace * trace / trace_of_square : 0;
  return std::sqrt(variance);
}

double BlockFit::RelativeSquare(size_t i) const {
  return points_[i].e * points_[i].e / points_[i].variance;
}

double BlockFit::ExpectedRelativeSquare(size_t i) const {
  return ResidualCovariance(i, i) / points_[i].variance;
}

}  // namespace coz::report
