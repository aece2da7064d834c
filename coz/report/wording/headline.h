// The figure that every output shows of a line: what the program gains when the line gets 30 %
// faster, and what comes beyond. The slope is said of straight curves alone, since on a curve that
// bends it is true nowhere.
//
// Shape    "30 % faster: +18 % (17 to 19), nothing more beyond 50 %"; of a straight curve
//          "30 % faster: +14 % (12 to 15), slope 0.45 ±0.02". Where the place of the bend is known
//          less well: "gains less beyond about 30 to 60 %". Where it is not known at all, or
//          whether there is a bend, the gain at the largest speedup tried:
//          "at 100 %: +27 % (22 to 31)"; where that is what is quoted already,
//          "its way there is hardly known". Of a line whose samples alone tell that it brings
//          nothing: "30 % faster: at most 1 %, by its samples". UTF-8
// Units    fractions; text in percent
// Errors   none; "(? to ?)" is left out where an interval is unknown
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/interpreting.md
#ifndef COZ_REPORT_WORDING_HEADLINE_H_
#define COZ_REPORT_WORDING_HEADLINE_H_

#include <string>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/quoted_gain.h"
#include "coz/report/statistics/curve.h"
#include "coz/report/statistics/statistics.h"

namespace coz::report {

struct Headline {
  // As in quoted_gain.h.
  double virtual_speedup = kQuotedSpeedup;
  Estimate program_speedup;
  bool is_limit = false;  // the program gains program_speedup.high at most, and no more is known
  // As BeyondBend says it; empty: the curve is straight.
  std::string beyond;
};

Headline HeadlineOf(const LineAnalysis& line);
// Of a unit whose samples alone tell that it brings nothing, and that was not tried. `gain_limit`
// is as in LineAnalysis; all but the upper bound is not known (NaN).
Headline HeadlineOfLimit(double gain_limit);

// Of a column of gains: "gain at 30 %".
std::string GainHead();
// "+18 % (17 to 19)"; "+9 % (8 to 10) at 20 %" where that is not the speedup of all lines.
std::string GainText(const Headline& headline);
// What the curve does: "nothing more beyond 50 %" or "slope 0.45 ±0.02".
std::string ShapeText(const LineAnalysis& line);
// Both, as above.
std::string HeadlineText(const LineAnalysis& line);

// "nothing more beyond 50 %", and as above; "" of a straight curve.
std::string BeyondBend(const Curve& curve);
// "50 % (46 to 53)", "30 to 60 %" or "not known".
std::string PlaceOfBend(const Curve& curve);

// Half of the interval's width: "±0.12"; "±?" where it has none.
std::string PlusMinus(const Estimate& estimate);
// Whole percents without the sign "%"; one decimal where that would be 0. Never "-0".
std::string PercentText(double fraction);
// "12 % (9 to 15)".
std::string WithInterval(const Estimate& estimate);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_HEADLINE_H_
