#include "coz/report/statistics/multiple_testing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace coz::report {
namespace {

// Places of the p-values, least first.
std::vector<size_t> Ascending(const std::vector<double>& p_values) {
  std::vector<size_t> order;
  for (size_t i = 0; i < p_values.size(); ++i) {
    if (!std::isnan(p_values[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&p_values](size_t a, size_t b) { return p_values[a] < p_values[b]; });
  return order;
}

}  // namespace

std::vector<double> QValues(const std::vector<double>& p_values) {
  const std::vector<size_t> order = Ascending(p_values);
  std::vector<double> q(p_values.size(), std::numeric_limits<double>::quiet_NaN());
  const double tests = static_cast<double>(order.size());
  double least = 1;
  for (size_t rank = order.size(); rank > 0; --rank) {
    const size_t i = order[rank - 1];
    least = std::min(least, p_values[i] * tests / static_cast<double>(rank));
    q[i] = least;
  }
  return q;
}

std::vector<double> HolmPValues(const std::vector<double>& p_values) {
  const std::vector<size_t> order = Ascending(p_values);
  std::vector<double> adjusted(p_values.size(), std::numeric_limits<double>::quiet_NaN());
  double most = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const double p = p_values[order[rank]] * static_cast<double>(order.size() - rank);
    most = std::max(most, std::min(1.0, p));
    adjusted[order[rank]] = most;
  }
  return adjusted;
}

}  // namespace coz::report
