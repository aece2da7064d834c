// Watches a growing profile for `coz run --until`: is it precise enough, what does it lack, how long will that take.
//
// Shape    Update as often as one likes; it looks at the profile when there is a new experiment, and when looking has cost less than
//          a fiftieth of the time since
// Units    width as in PrecisionGoal; ns of CLOCK_MONOTONIC
// Errors   ParseWidth: INVALID_ARGUMENT
// Threads  compatible
// Signals  none
// Source   coz/report/precision_goal.h
#ifndef COZ_TOOLS_SUPERVISOR_UNTIL_GOAL_H_
#define COZ_TOOLS_SUPERVISOR_UNTIL_GOAL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/experiment/target.h"
#include "coz/report/precision_goal.h"
#include "coz/report/profile.pb.h"

namespace coz {

// "5" or "5%": percentage points, above 0 and at most 200. As a fraction.
absl::StatusOr<double> ParseWidth(const std::string& text);

class UntilGoal {
 public:
  // `only`: the units that experiments are confined to; empty: all.
  UntilGoal(double width, double uniform_share, const std::vector<UnitId>& only);

  // Whether it looked.
  bool Update(const profile::Profile& profile, uint64_t now_ns);

  const PrecisionGoal& goal() const { return goal_; }
  const PrecisionState& state() const { return state_; }
  // For Scheduler::Focus: what each unit needs.
  const std::vector<std::pair<UnitId, double>>& focus() const { return focus_; }

  // "widest interval 12.1 of 5 points wanted, about 40 s more"
  std::string Text() const;

 private:
  PrecisionGoal goal_;
  PrecisionState state_;
  std::vector<std::pair<UnitId, double>> focus_;
  int experiments_ = 0;
  uint64_t next_look_ns_ = 0;
};

}  // namespace coz

#endif  // COZ_TOOLS_SUPERVISOR_UNTIL_GOAL_H_
