// Finds experiments that something outside of the program has spoilt: a neighbour on the machine, a
// hiccup of the host.
//
// Shape    the observations of one line and point, blocks set, in; those to leave out, in their
//          order, out
// Units    as RateObservation
// Errors   none. Nothing is left out where a speedup has too few experiments to tell, or so many
//          differ that the program itself is like that
// Threads  safe: a pure function
// Signals  not async-signal-safe
// Source   Hampel's identifier: distance from the median, in units of the median distance (Davies
//          and Gather 1993)
//
// An experiment is compared with the others of its speedup, each by the level of its block. Where
// these are fewer than five, it is compared with those at the two next speedups on each side. The
// limit is six standard deviations and at least a twentieth of its time. Ordinary noise does not
// get there: one in 10^8 of a normal distribution. The limit is the same above and below, and for
// every line and speedup, so that leaving out favours no result.
#ifndef COZ_REPORT_STATISTICS_OUTLIERS_H_
#define COZ_REPORT_STATISTICS_OUTLIERS_H_

#include <cstddef>
#include <vector>

#include "coz/report/statistics/statistics.h"

namespace coz::report {

std::vector<size_t> FindOutliers(const std::vector<RateObservation>& observations);

}  // namespace coz::report

#endif  // COZ_REPORT_STATISTICS_OUTLIERS_H_
