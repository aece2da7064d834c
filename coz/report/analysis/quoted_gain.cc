#include "coz/report/analysis/quoted_gain.h"

#include <algorithm>

#include "coz/report/statistics/curve.h"

namespace coz::report {
namespace {

double SpeedupOf(const LineAnalysis& line) {
  const Curve& curve = line.curve;
  const double largest = curve.LargestSpeedup();
  double quoted = std::min(kQuotedSpeedup, largest);
  if (!curve.bend.has_value()) return quoted;
  // A speedup beyond the bend would hide what comes before it.
  if (IsPlaced(*curve.bend) && curve.bend->slope_before.value > 0) {
    quoted = std::min(quoted, curve.bend->virtual_speedup);
  }
  const bool gains = curve.At(quoted).value > 0;
  return gains == (line.verdict != Verdict::kSlower) ? quoted : largest;
}

}  // namespace

QuotedGain QuotedGainOf(const LineAnalysis& line) {
  if (line.curve.points.empty()) {
    const Estimate& slope = line.statistical_slope;
    const Estimate chance = {slope.value * kQuotedSpeedup, slope.low * kQuotedSpeedup,
                             slope.high * kQuotedSpeedup};
    return {kQuotedSpeedup, line.systematic.Widen(chance, kQuotedSpeedup)};
  }
  const double speedup = SpeedupOf(line);
  return {speedup, line.curve.At(speedup)};
}

}  // namespace coz::report
