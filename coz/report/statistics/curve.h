// The shape of a line's effect: a straight line through the origin, or one bend where the data
// prove it.
//
// Shape    observations of one line and point in; program speedup over virtual speedup on a grid of
//          5 % out, from 0 to the largest speedup tried. Straight: the wedge of EstimateSlope.
//          Bent: p = p_0·(1 - a·min(s,k) - b·max(s-k,0)), with k the speedup that leaves the least
//          squares. The interval of k holds each place whose squares are no more than chance makes
//          them (profile likelihood)
// Units    virtual speedups, program speedups, slopes: fractions
// Errors   an empty curve, where EstimateSlope has no answer
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   HC3 of MacKinnon and White 1985 for the band of bent curves; curve_test.cc for how often
//          straight lines are taken for bent ones (the threshold allows for the search of k), and
//          how often bent ones are found
#ifndef COZ_REPORT_STATISTICS_CURVE_H_
#define COZ_REPORT_STATISTICS_CURVE_H_

#include <optional>
#include <vector>

#include "coz/report/statistics/statistics.h"

namespace coz::report {

struct CurvePoint {
  double virtual_speedup = 0;
  Estimate program_speedup;
};

struct Bend {
  double virtual_speedup = 0;  // k
  // The 95 % interval of k. 0 and the largest speedup tried: as far as the experiments tell, the
  // curve bends before, or after, all speedups that were tried.
  double low = 0;
  double high = 1;
  Estimate slope_before;
  Estimate slope_after;
};

// Whether the place of a bend is known well enough to be said as one figure: to 15 points.
bool IsPlaced(const Bend& bend);

struct Curve {
  std::vector<CurvePoint> points;  // ascending, the first at 0; empty if unknown
  std::optional<Bend> bend;
  // Without a bend: the weight in `points` of the best bent curve, which is not proven. The rest is
  // the straight one's.
  double weight_of_bent = 0;

  // Between grid points. Beyond the last one the curve goes on as it ends: pauses may make less
  // than the speedup that was asked for, and a real change may reach further than any that was
  // tried. The origin if the curve is empty.
  Estimate At(double virtual_speedup) const;
  // 0 if the curve is empty.
  double LargestSpeedup() const { return points.empty() ? 0 : points.back().virtual_speedup; }
};

// `slope` is that of EstimateSlope over the same observations.
Curve FitCurve(const std::vector<RateObservation>& observations, const Estimate& slope);

}  // namespace coz::report

#endif  // COZ_REPORT_STATISTICS_CURVE_H_
