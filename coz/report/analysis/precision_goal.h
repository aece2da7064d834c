// Whether a profile is precise enough to stop, which units it still lacks, and how long that will
// take: the rule of `coz run --until`.
//
// Shape    looks at the most visited progress point; in end-to-end profiles, at the end of the
//          program. Two sets of units matter. The first are the `top_units` analysed units with the
//          largest possible effect, by the far end of their interval, without those that certainly
//          have none. The second have `min_share` or more of the samples and no figure yet. The
//          goal is reached when there is a figure, none of the first has an interval above `width`,
//          and the second set is empty
//
//          Widths are of what chance makes of a slope's interval (LineAnalysis::statistical_slope):
//          more experiments narrow it to any width. What is systematic they do not narrow, so a
//          goal that counted it might never be reached
// Units    width: fraction of program speedup at a line speedup of 100 %, which is the width of the
//          slope's 95 % interval; remaining time in ns of profiling
// Errors   none
// Threads  safe: a pure function
// Signals  not async-signal-safe
// Source   docs/design/statistics.md; Chow and Robbins 1965 for stopping by the width of an
//          interval; precision_goal_test.cc for what that does to coverage
#ifndef COZ_REPORT_ANALYSIS_PRECISION_GOAL_H_
#define COZ_REPORT_ANALYSIS_PRECISION_GOAL_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

struct PrecisionGoal {
  double width = 0.1;
  size_t top_units = 5;
  double min_share = 0.02;
  // Share of experiments whose unit is drawn from random samples, whatever is still lacking.
  double uniform_share = 0.25;
  // A sure verdict is enough for a unit, however wide its interval is.
  bool verdict_is_enough = false;
  // With fewer experiments that have a speedup it is not: a curve may bend between two.
  int min_experiments = 5;
  // Experiments are confined to these indices into ExperimentTable.units; null: all.
  const std::set<size_t>* only_units = nullptr;
};

struct OpenUnit {
  size_t unit = 0;         // index into ExperimentTable.units
  double experiments = 1;  // how many it is likely to need still; infinite: nothing tells
};

struct PrecisionState {
  bool reached = false;
  // The widest interval of units that matter; infinite while one of them has no figure.
  double width = std::numeric_limits<double>::infinity();
  // The same with what is systematic, as reports show it.
  double whole_width = std::numeric_limits<double>::infinity();
  std::vector<OpenUnit> open;
  // An estimate; 0: reached, or nothing tells.
  uint64_t remaining_ns = 0;
};

// How often experiments are drawn for the unit, beside other open ones: by need. None is so large
// that the others have to wait for it.
double DrawWeight(const OpenUnit& open);

PrecisionState JudgePrecision(const ExperimentTable& table, const Analysis& analysis,
                              const PrecisionGoal& goal);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_PRECISION_GOAL_H_
