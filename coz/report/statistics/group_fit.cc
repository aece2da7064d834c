#include "coz/report/statistics/group_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "coz/report/statistics/student.h"

namespace coz::report {
namespace {

bool IsUsable(const GroupFigure& figure) {
  return std::isfinite(figure.value) && std::isfinite(figure.error) && figure.error > 0 &&
         figure.df > 0;
}

// Sums over figures, weighted by the inverse square of their errors.
struct WeightedSums {
  double count = 0;
  double weights = 0;
  double squared_weights = 0;
  double values = 0;
  double squares = 0;

  void Add(const GroupFigure& figure, double sign) {
    const double weight = 1 / (figure.error * figure.error);
    count += sign;
    weights += sign * weight;
    squared_weights += sign * weight * weight;
    values += sign * weight * figure.value;
    squares += sign * weight * figure.value * figure.value;
  }

  // By the method of moments; 0 where the errors explain all.
  double SpreadVariance() const {
    if (count < 2) return 0;
    const double distances = squares - values * values / weights;
    const double scale = weights - squared_weights / weights;
    return scale > 0 ? std::max(0.0, (distances - (count - 1)) / scale) : 0;
  }
};

GroupFit FitOne(const std::vector<GroupFigure>& figures, size_t one, WeightedSums sums) {
  sums.Add(figures[one], -1);
  const double spread = sums.SpreadVariance();
  double weights = 0;
  double values = 0;
  double df = 0;
  for (size_t i = 0; i < figures.size(); ++i) {
    if (i == one || !IsUsable(figures[i])) continue;
    const double weight = 1 / (figures[i].error * figures[i].error + spread);
    weights += weight;
    values += weight * figures[i].value;
    df += figures[i].df;
  }
  GroupFit fit;
  fit.others = values / weights;
  fit.spread = std::sqrt(spread);
  const GroupFigure& own = figures[one];
  const double own_variance = own.error * own.error;
  const double variance = own_variance + 1 / weights + spread;
  // Squares of the parts of the variance over their degrees of freedom. The spread is what the
  // others' distances hold beyond their errors, so it is as uncertain as both together.
  double uncertainty = own_variance * own_variance / own.df + 1 / (weights * weights * df);
  if (spread > 0) {
    const double distances = (spread + sums.count / sums.weights) * (1 + 1 / sums.count);
    uncertainty += distances * distances / (sums.count - 1);
  }
  fit.p_value = TwoSidedPValue((own.value - fit.others) / std::sqrt(variance),
                               variance * variance / uncertainty);
  return fit;
}

}  // namespace

std::vector<GroupFit> FitGroups(const std::vector<GroupFigure>& figures) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  std::vector<GroupFit> fits(figures.size(), GroupFit{none, none, none});
  // Squares lose no digits when values are near 0.
  const auto first = std::find_if(figures.begin(), figures.end(), IsUsable);
  if (first == figures.end()) return fits;
  std::vector<GroupFigure> centred = figures;
  for (GroupFigure& figure : centred) figure.value -= first->value;
  WeightedSums sums;
  for (const GroupFigure& figure : centred) {
    if (IsUsable(figure)) sums.Add(figure, 1);
  }
  if (sums.count < 2) return fits;
  for (size_t i = 0; i < figures.size(); ++i) {
    if (!IsUsable(figures[i])) continue;
    fits[i] = FitOne(centred, i, sums);
    fits[i].others += first->value;
  }
  return fits;
}

}  // namespace coz::report
