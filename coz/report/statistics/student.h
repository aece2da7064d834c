// Student's t distribution: how far luck alone takes an estimate whose error is itself estimated.
//
// Shape    numbers in, a number out
// Units    t in standard errors, probabilities
// Errors   none; NaN in, NaN out. Fewer degrees of freedom than 1 count as 1
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/design/statistics.md; computed by Boost.Math
#ifndef COZ_REPORT_STATISTICS_STUDENT_H_
#define COZ_REPORT_STATISTICS_STUDENT_H_

namespace coz::report {

// The 97.5 % quantile. A 95 % interval is this many standard errors long to each side.
double StudentQuantile(double df);

// The probability that t is at least as far from 0 as `t`, on either side.
double TwoSidedPValue(double t, double df);

}  // namespace coz::report

#endif  // COZ_REPORT_STATISTICS_STUDENT_H_
