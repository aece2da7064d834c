// Finds experiments that something outside of the program has spoilt: a neighbour on the machine, a
// hiccup of the host.
//
// Shape    the observations of one line and point in, blocks set; those to be left out, in their
//          order, out
// Units    as RateObservation
// Errors   none: where too few were made at a speedup to tell, or too many differ, so that it is
//          the program's own nature, none is left out
// Threads  safe: a pure function
// Signals  not async-signal-safe
// Source   Hampel's identifier: distance from the median, in units of the median distance (Davies
//          and Gather 1993)
//
// An experiment is compared with the others of its speedup, each by the level of its block. The
// limit is so far out, six standard deviations and at least a twentieth of its time, that ordinary
// noise does not get there: one in 10^8 of a normal distribution. Whether it is above or below,
// which line and what speedup makes no difference, so that leaving out favours no result.
#ifndef COZ_REPORT_STATISTICS_OUTLIERS_H_
#define COZ_REPORT_STATISTICS_OUTLIERS_H_

#include <cstddef>
#include <vector>

#include "coz/report/statistics/statistics.h"

namespace coz::report {

std::vector<size_t> FindOutliers(const std::vector<RateObservation>& observations);

}  // namespace coz::report

#endif  // COZ_REPORT_STATISTICS_OUTLIERS_H_
