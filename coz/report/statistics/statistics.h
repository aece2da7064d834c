// 95 % intervals for what one line does to one progress point, from the variation between
// experiments.
//
// Shape    observations of one line and point in, estimates out; order does not matter
// Units    duration and visits in any units, used only as a ratio; speedups and slopes are
//          fractions
// Errors   nullopt, or infinite bounds, where the observations cannot tell
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   the paper (Curtsinger, Berger, SOSP 2015) for p and 1 - p_s/p_0; Bell and McCaffrey 2002
//          for the small-sample correction (HC2 and Satterthwaite's degrees of freedom);
//          statistics_test.cc for the coverage measured, with drift too
#ifndef COZ_REPORT_STATISTICS_STATISTICS_H_
#define COZ_REPORT_STATISTICS_STATISTICS_H_

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace coz::report {

// One experiment at one progress point.
struct RateObservation {
  double virtual_speedup = 0;  // nominal; 0: a baseline
  double duration = 0;         // effective duration; for latency pairs times the average in flight
  double visits = 0;           // > 0
  // How much the experiment counts. Baselines made for other lines count by how active the line was
  // in them.
  double weight = 1;
  // The virtual speedup that the pauses really made; the slope is over this one. Negative: unknown,
  // and the nominal one is used.
  double achieved_virtual_speedup = -1;
  // Experiments are compared only within their block: a time short enough for the program to stay
  // the same. Blocks without a baseline are not used. Counted from 0.
  int block = 0;
  // As `duration`, with the delay that was inserted; 0: none was.
  double elapsed = 0;
  int experiments = 1;  // it is the sum of so many
  // Sums have as much noise as they have experiments, so none can be told to be odd.
  bool is_sum = false;
};

bool IsBaseline(const RateObservation& observation);
double AchievedSpeedup(const RateObservation& observation);
size_t BlockCount(const std::vector<RateObservation>& observations);  // the highest + 1
// How many different speedups other than 0 there are in blocks that have a baseline.
size_t ComparedSpeedups(const std::vector<RateObservation>& observations);

struct Estimate {
  double value = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

struct SlopeEstimate : Estimate {
  double p_value = 1;  // that luck alone makes so steep a slope
  double df = 0;       // degrees of freedom of the interval
};

struct SpeedupEstimate {
  double virtual_speedup = 0;  // nominal
  int experiments = 0;
  double visits = 0;
  Estimate program_speedup;             // 1 - p_s / p_0
  double achieved_virtual_speedup = 0;  // mean of its experiments
};

// Slope of program speedup over achieved virtual speedup: p = p_0·(1 - slope·s) with a p_0 for each
// block, least squares with durations as weights (block_fit.h), so that with one block experiments
// of one speedup are pooled as sum of durations / sum of visits. p_0 is estimated along with the
// slope, so the baselines' own error is in the interval. Needs a baseline, another speedup, four
// observations, and one more in the blocks of both than a line fits whatever it is.
std::optional<SlopeEstimate> EstimateSlope(const std::vector<RateObservation>& observations);

// One figure for each nominal speedup other than 0, ascending; empty without a baseline. Durations
// are compared with what the same visits take at the pace of the baselines of their block: 1 - sum
// of durations / sum of those.
std::vector<SpeedupEstimate> EstimateSpeedups(const std::vector<RateObservation>& observations);

// The same observations without the drift: durations in units of the level of their block, speedups
// as achieved (the mean of those of one nominal speedup), at most `most` observations for each
// speedup, which stand for several each. For curves.
std::vector<RateObservation> WithoutDrift(const std::vector<RateObservation>& observations,
                                          int most = 16);

// In hundredths of a percent, so that equal speedups compare equal whatever arithmetic made them.
int SpeedupKey(double virtual_speedup);

}  // namespace coz::report

#endif  // COZ_REPORT_STATISTICS_STATISTICS_H_
