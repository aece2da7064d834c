// 95 % intervals for what one line does to one progress point, from the variation between experiments.
//
// Shape    observations of one line and point in, estimates out; order does not matter
// Units    duration and visits in any units, used only as a ratio; speedups and slopes are fractions
// Errors   nullopt, or infinite bounds, where the observations cannot tell
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   the paper (Curtsinger, Berger, SOSP 2015) for p and 1 - p_s/p_0; Bell and McCaffrey 2002 for the small-sample
//          correction (HC2 and Satterthwaite's degrees of freedom); statistics_test.cc for the coverage measured
#ifndef COZ_REPORT_STATISTICS_H_
#define COZ_REPORT_STATISTICS_H_

#include <limits>
#include <optional>
#include <vector>

namespace coz {

// One experiment at one progress point.
struct RateObservation {
  double virtual_speedup = 0;
  double duration = 0;  // effective duration; for latency pairs times the average in flight
  double visits = 0;    // > 0
  // How much the experiment counts. Baselines made for other lines count by how active the line was in them.
  double weight = 1;
};

struct Estimate {
  double value = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

struct SlopeEstimate : Estimate {
  double p_value = 1;  // that luck alone makes so steep a slope
};

struct SpeedupEstimate {
  double virtual_speedup = 0;
  int experiments = 0;
  double visits = 0;
  Estimate program_speedup;             // 1 - p_s / p_0
  double achieved_virtual_speedup = 0;  // mean of its experiments
};

// Slope of program speedup over virtual speedup: p = p_0·(1 - slope·s), least squares with visits as weights, so that
// experiments of one speedup are pooled as sum of durations / sum of visits. p_0 is estimated along with the slope, so the
// baselines' own error is in the interval. Needs a baseline, another speedup, and four observations.
std::optional<SlopeEstimate> EstimateSlope(const std::vector<RateObservation>& observations);

// One figure for each speedup other than 0, ascending; empty without a baseline.
std::vector<SpeedupEstimate> EstimateSpeedups(const std::vector<RateObservation>& observations);

// 97.5 % quantile of Student's t; df is clamped to 2 and more.
double StudentQuantile(double df);

// Equal speedups compare equal whatever arithmetic they come from: in hundredths of a percent.
int SpeedupKey(double virtual_speedup);

}  // namespace coz

#endif  // COZ_REPORT_STATISTICS_H_
