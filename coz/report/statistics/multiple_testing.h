// Keeps luck out of a long list: q-values for the p-values of many lines at once, or p-values that
// hold for the whole list.
//
// Shape    numbers in, numbers out, in the same order
// Units    probabilities
// Errors   NaN in stays NaN out, and does not count as a test
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   Benjamini and Hochberg 1995; they hold for the positive dependence that shared baselines
//          cause (Benjamini and Yekutieli 2001); Holm 1979
#ifndef COZ_REPORT_STATISTICS_MULTIPLE_TESTING_H_
#define COZ_REPORT_STATISTICS_MULTIPLE_TESTING_H_

#include <vector>

namespace coz::report {

// Benjamini-Hochberg. Where all lines with q <= 0.05 are called discoveries, on average at most 5 %
// of the discoveries are false.
std::vector<double> QValues(const std::vector<double>& p_values);

// Holm. Where all with a value of at most 0.05 are called discoveries, in at most 5 % of the lists
// there is a false one, however the tests depend on each other.
std::vector<double> HolmPValues(const std::vector<double>& p_values);

}  // namespace coz::report

#endif  // COZ_REPORT_STATISTICS_MULTIPLE_TESTING_H_
