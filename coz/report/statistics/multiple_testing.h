// Keeps luck out of a long list: p-values of single lines, and q-values for many lines at once.
//
// Shape    numbers in, numbers out, in the same order
// Units    probabilities
// Errors   NaN in stays NaN out, and does not count as a test
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   Benjamini and Hochberg 1995; they hold for the positive dependence that shared baselines cause (Benjamini and
//          Yekutieli 2001). Incomplete beta function: DLMF 8.17
#ifndef COZ_REPORT_STATISTICS_MULTIPLE_TESTING_H_
#define COZ_REPORT_STATISTICS_MULTIPLE_TESTING_H_

#include <vector>

namespace coz::report {

// The probability that Student's t with `df` degrees of freedom (2 and more) is at least as far from 0 as `t`.
double TwoSidedPValue(double t, double df);

// Benjamini-Hochberg: calling the lines with q <= 0.05 discoveries makes at most 5 % of such lists' entries false, on average.
std::vector<double> QValues(const std::vector<double>& p_values);

}  // namespace coz::report

#endif  // COZ_REPORT_STATISTICS_MULTIPLE_TESTING_H_
