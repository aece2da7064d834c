// The gain that outputs quote of a line, by which its verdict has to hold.
//
// Shape    the program speedup where the line gets 30 % faster. Less, where the line was not tried
//          so far, or is known to bend before; and at the largest speedup that was tried, where
//          only that shows what the slope says
// Units    fractions
// Errors   none; without a curve the slope tells
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/interpreting.md
#ifndef COZ_REPORT_ANALYSIS_QUOTED_GAIN_H_
#define COZ_REPORT_ANALYSIS_QUOTED_GAIN_H_

#include "coz/report/analysis/analysis.h"
#include "coz/report/statistics/statistics.h"

namespace coz::report {

// All lines are looked at at the same speedup, so that their figures can be compared.
inline constexpr double kQuotedSpeedup = 0.30;

struct QuotedGain {
  double virtual_speedup = kQuotedSpeedup;
  Estimate program_speedup;  // with what is systematic
};

QuotedGain QuotedGainOf(const LineAnalysis& line);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_QUOTED_GAIN_H_
