// The middle of some values, and how far they are from it: what a few odd ones hardly change.
//
// Shape    pure functions of values in any order
// Units    those of the values
// Errors   there must be a value
// Threads  safe
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_REPORT_STATISTICS_MEDIAN_H_
#define COZ_REPORT_STATISTICS_MEDIAN_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace coz::report {

// The larger of the two middle ones where their number is even.
inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The standard deviation of a normal distribution, by its median distance from `middle`.
inline double DeviationAround(double middle, std::vector<double> values) {
  constexpr double kByMedianDistance = 1.4826;
  for (double& value : values) value = std::abs(value - middle);
  return kByMedianDistance * Median(std::move(values));
}

}  // namespace coz::report

#endif  // COZ_REPORT_STATISTICS_MEDIAN_H_
