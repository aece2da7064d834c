#include "coz/report/statistics/multiple_testing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace coz::report {
namespace {

// Continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
  double result = d;
  for (int m = 1; m <= 300; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
      c = 1 + term / c;
      if (std::fabs(c) < kTiny) c = kTiny;
      result *= c * d;
    }
    if (std::fabs(c * d - 1) < 1e-12) break;
  }
  return result;
}

// Regularized incomplete beta function.
double Beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

}  // namespace

double TwoSidedPValue(double t, double df) {
  if (std::isnan(t)) return std::numeric_limits<double>::quiet_NaN();
  const double v = std::clamp(df, 2.0, 1e7);
  // t² overflows to infinity for exact data, and x is then 0.
  return Beta(v / 2, 0.5, v / (v + t * t));
}

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
