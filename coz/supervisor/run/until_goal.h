// Watches a growing profile for `coz run --until`: is it precise enough, what does it lack, how
// long will that take.
//
// Shape    the profile is of one run, or of a series of runs, whose last session is the one under
//          way. Update as often as one likes; it looks at the profile when there is a new
//          experiment, and when looking has cost less than a fiftieth of the time since
// Units    width as in PrecisionGoal; ns of CLOCK_MONOTONIC
// Errors   ParseWidth: INVALID_ARGUMENT
// Threads  compatible
// Signals  none
// Source   coz/report/analysis/precision_goal.h
#ifndef COZ_TOOLS_SUPERVISOR_UNTIL_GOAL_H_
#define COZ_TOOLS_SUPERVISOR_UNTIL_GOAL_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/experiment/target.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/precision_goal.h"
#include "coz/report/format/profile.pb.h"

namespace coz::supervisor {

// "5" or "5%": percentage points, above 0 and at most 200. As a fraction.
absl::StatusOr<double> ParseWidth(const std::string& text);

// Which units are in focus: all that lack something, so that all are done early; or the few that
// lack least, so that many are done when the run ends at any time.
enum class FocusOrder { kMostNeedFirst, kLeastNeedFirst };

// What a run without --until aims at: a verdict for each line that matters.
report::PrecisionGoal VerdictsGoal(double uniform_share);

class UntilGoal {
 public:
  // The goal's `only_units` is set here.
  UntilGoal(
      const report::PrecisionGoal& goal, FocusOrder order,
      const std::vector<experiment::UnitId>& only,
      std::function<bool(experiment::UnitId id, const report::UnitRow& unit)> is_here = nullptr);
  // `only`: the units that experiments are confined to; empty: all. `is_here`: whether a unit of
  // the profile has the number `id` in this run (earlier runs name others too); empty: always.
  UntilGoal(
      double width, double uniform_share, const std::vector<experiment::UnitId>& only,
      std::function<bool(experiment::UnitId id, const report::UnitRow& unit)> is_here = nullptr);

  // Whether it looked. With `at_end` it looks at any new experiment, whatever that costs.
  bool Update(const profile::Profile& profile, uint64_t now_ns, bool at_end = false);

  const report::PrecisionGoal& goal() const { return goal_; }
  const report::PrecisionState& state() const { return state_; }
  // For Scheduler::Focus: its weights.
  const std::vector<std::pair<experiment::UnitId, double>>& focus() const { return focus_; }

  // "widest interval 12.1 of 5 points, about 40 s more"; from the second run of a series on "…,
  // about 12 runs more".
  std::string Text() const;
  // ", and reports show up to 6.1, as the rest stays however long you run"; "" where the whole
  // intervals are as narrow as the goal.
  std::string WhatStays() const;

 private:
  bool IsHere(const report::UnitRow& unit) const {
    return !is_here_ || is_here_(unit.id - 1, unit);
  }

  report::PrecisionGoal goal_;
  FocusOrder order_;
  std::set<experiment::UnitId> only_;
  std::function<bool(experiment::UnitId, const report::UnitRow&)> is_here_;
  report::PrecisionState state_;
  uint64_t mean_run_ns_ = 0;  // of the runs that have ended; 0: none has
  std::vector<std::pair<experiment::UnitId, double>> focus_;
  int experiments_ = 0;
  uint64_t next_look_ns_ = 0;
};

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_UNTIL_GOAL_H_
