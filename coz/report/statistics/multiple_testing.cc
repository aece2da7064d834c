#include "coz/report/statistics/multiple_testing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace coz::report {

std::vector<double> QValues(const std::vector<double>& p_values) {
  std::vector<size_t> order;
  for (size_t i = 0; i < p_values.size(); ++i) {
    if (!std::isnan(p_values[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&p_values](size_t a, size_t b) { return p_values[a] < p_values[b]; });
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

}  // namespace coz::report
