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

// Of an even number of figures the mean of the two in the middle: the upper one alone would be the
// larger of two.
inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t upper = values.size() / 2;
  const size_t lower = (values.size() - 1) / 2;
  return (values[lower] + values[upper]) / 2;
}

}  // namespace coz

#endif  // COZ_BENCH_MEDIAN_H_
