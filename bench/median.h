// The median of a few figures.
//
// Shape    one function
// Units    those of the figures
// Errors   `values` is not empty
// Threads  safe
// Signals  none
// Source   none
#ifndef COZ_BENCH_MEDIAN_H_
#define COZ_BENCH_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace coz {

// For an even number of figures this is the mean of the two in the middle. The upper one alone
// would make the median of two figures the larger one.
inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t upper = values.size() / 2;
  const size_t lower = (values.size() - 1) / 2;
  return (values[lower] + values[upper]) / 2;
}

}  // namespace coz

#endif  // COZ_BENCH_MEDIAN_H_
