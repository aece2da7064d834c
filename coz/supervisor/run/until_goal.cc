#include "coz/supervisor/run/until_goal.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"

namespace coz::supervisor {
namespace {

constexpr uint64_t kRestPerLook = 150;
// So many units are finished at a time. Experiments that are spread over more finish none of them.
constexpr size_t kFinishedAtATime = 3;

// Of the open units those that lack least; of equals, those with the most samples.
std::vector<report::OpenUnit> NearestToDone(const report::ExperimentTable& table,
                                            std::vector<report::OpenUnit> open) {
  std::stable_sort(open.begin(), open.end(),
                   [&table](const report::OpenUnit& a, const report::OpenUnit& b) {
                     if (a.experiments != b.experiments) return a.experiments < b.experiments;
                     return table.units[a.unit].samples > table.units[b.unit].samples;
                   });
  if (open.size() > kFinishedAtATime) open.resize(kFinishedAtATime);
  return open;
}

}  // namespace

absl::StatusOr<double> ParseWidth(const std::string& text) {
  char* end = nullptr;
  const double points = strtod(text.c_str(), &end);
  const bool is_number = end != text.c_str() && (*end == '\0' || (*end == '%' && end[1] == '\0'));
  // An interval is hardly ever narrower than 0.1 points; one of 200 says nothing.
  if (!is_number || !(points >= 0.1 && points <= 200)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--until=%s is not a width from 0.1 to 200 percentage points; write --until=10", text));
  }
  return points / 100;
}

report::PrecisionGoal VerdictsGoal(double uniform_share) {
  report::PrecisionGoal goal;
  goal.width = 0.1;
  goal.top_units = 20;
  goal.min_share = 0.01;
  goal.uniform_share = uniform_share;
  goal.verdict_is_enough = true;
  return goal;
}

UntilGoal::UntilGoal(const report::PrecisionGoal& goal, FocusOrder order,
                     const std::vector<experiment::UnitId>& only,
                     std::function<bool(experiment::UnitId, const report::UnitRow&)> is_here)
    : goal_(goal), order_(order), only_(only.begin(), only.end()), is_here_(std::move(is_here)) {}

UntilGoal::UntilGoal(double width, double uniform_share,
                     const std::vector<experiment::UnitId>& only,
                     std::function<bool(experiment::UnitId, const report::UnitRow&)> is_here)
    : UntilGoal(report::PrecisionGoal(), FocusOrder::kMostNeedFirst, only, std::move(is_here)) {
  goal_.width = width;
  goal_.uniform_share = uniform_share;
}

bool UntilGoal::Update(const profile::Profile& profile, uint64_t now_ns, bool at_end) {
  if (profile.experiment_size() == experiments_) return false;
  if (!at_end && now_ns < next_look_ns_) return false;
  experiments_ = profile.experiment_size();
  const uint64_t start_ns = MonotonicNowNs();
  const report::ExperimentTable table = report::BuildExperimentTable(profile);
  // In the profile, ids of units count from 1.
  std::set<size_t> only;
  for (size_t i = 0; i < table.units.size(); ++i) {
    if (only_.count(table.units[i].id - 1) != 0 && IsHere(table.units[i])) only.insert(i);
  }
  goal_.only_units = only_.empty() ? nullptr : &only;
  report::AnalysisOptions options;
  options.slopes_only = true;
  state_ = report::JudgePrecision(table, report::Analyze(profile, table, options), goal_);
  goal_.only_units = nullptr;
  focus_.clear();
  std::vector<report::OpenUnit> sought;
  for (const report::OpenUnit& open : state_.open) {
    if (IsHere(table.units[open.unit])) sought.push_back(open);
  }
  const bool least_first = order_ == FocusOrder::kLeastNeedFirst;
  if (least_first) sought = NearestToDone(table, std::move(sought));
  for (const report::OpenUnit& open : sought) {
    // By need, the one that lacks least would be done last.
    focus_.emplace_back(table.units[open.unit].id - 1, least_first ? 1 : report::DrawWeight(open));
  }
  uint64_t ended_ns = 0;
  for (const profile::SessionEnd& end : profile.session_end()) ended_ns += end.run_time_ns();
  const auto ended = static_cast<uint64_t>(profile.session_end_size());
  mean_run_ns_ = ended == 0 ? 0 : ended_ns / ended;
  next_look_ns_ = now_ns + kRestPerLook * (MonotonicNowNs() - start_ns);
  return true;
}

std::string UntilGoal::WhatStays() const {
  if (!std::isfinite(state_.whole_width) || state_.whole_width <= goal_.width) return "";
  return absl::StrFormat(", and reports show up to %.1f, as the rest stays however long you run",
                         100 * state_.whole_width);
}

std::string UntilGoal::Text() const {
  std::string text;
  if (std::isfinite(state_.width)) {
    text =
        absl::StrFormat("widest interval %.1f of %g points", 100 * state_.width, 100 * goal_.width);
  } else if (state_.open.empty()) {
    text = "no line has a figure yet";
  } else {
    text = absl::StrCat(state_.open.size(), state_.open.size() == 1 ? " line" : " lines",
                        " without a figure yet");
  }
  if (state_.remaining_ns > mean_run_ns_ && mean_run_ns_ > 0) {
    const double runs =
        static_cast<double>(state_.remaining_ns) / static_cast<double>(mean_run_ns_);
    absl::StrAppendFormat(&text, ", about %.0f runs more", std::ceil(runs));
  } else if (state_.remaining_ns > 0) {
    const double seconds = static_cast<double>(state_.remaining_ns) / kNsPerSecond;
    absl::StrAppend(&text, seconds < 100
                               ? absl::StrFormat(", about %.0f s more", std::ceil(seconds / 5) * 5)
                               : absl::StrFormat(", about %.0f min more", std::ceil(seconds / 60)));
  }
  return text;
}

}  // namespace coz::supervisor
