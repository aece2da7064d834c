#include "coz/report/analysis/precision_goal.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/student.h"

namespace coz::report {
namespace {

// An interval from very few experiments tells little about how many more it needs.
constexpr double kMostAtOnce = 200;
// Degrees of freedom that are as good as any number of them.
constexpr double kMany = 1000;
constexpr double kLongestNs = 1e18;  // 32 years
constexpr double kUnknown = std::numeric_limits<double>::infinity();

// What more experiments narrow.
double Width(const LineAnalysis& line) {
  return line.statistical_slope.high - line.statistical_slope.low;
}

double Potential(const LineAnalysis& line) { return std::max(line.slope.high, -line.slope.low); }

double SampleShare(const ExperimentTable& table, size_t unit) {
  if (table.samples == 0) return 0;
  return static_cast<double>(table.units[unit].samples) / static_cast<double>(table.samples);
}

bool Counts(size_t unit, const PrecisionGoal& goal) {
  return goal.only_units == nullptr || goal.only_units->count(unit) != 0;
}

// What an end-to-end profile measures is the run time, whatever points it passes.
const PointAnalysis& PointThatCounts(const ExperimentTable& table, const Analysis& analysis) {
  for (const PointAnalysis& point : analysis.points) {
    if (table.points[point.point].kind == profile::PROGRESS_POINT_KIND_END_TO_END) return point;
  }
  return analysis.points.front();
}

// Analysed units whose interval counts, those with the largest possible effect first.
std::vector<const LineAnalysis*> TopLines(const PointAnalysis& point, const PrecisionGoal& goal) {
  std::vector<const LineAnalysis*> lines;
  for (const LineAnalysis& line : point.lines) {
    const bool is_small = line.verdict == Verdict::kNoEffect || line.missed_in_stretch_ns > 0;
    const bool is_settled = goal.verdict_is_enough && line.verdict != Verdict::kCannotTell &&
                            line.others >= goal.min_experiments;
    if (!is_small && !is_settled && Counts(line.unit, goal)) lines.push_back(&line);
  }
  std::stable_sort(lines.begin(), lines.end(), [](const LineAnalysis* a, const LineAnalysis* b) {
    return Potential(*a) > Potential(*b);
  });
  if (lines.size() > goal.top_units) lines.resize(goal.top_units);
  return lines;
}

// An interval shrinks with the root of the number of experiments. Of few it is wide for another
// reason, too: they hardly tell how much they vary.
double ExperimentsNeeded(const LineAnalysis& line, double width) {
  if (!std::isfinite(Width(line))) return kUnknown;
  const double by_few = StudentQuantile(kMany) / StudentQuantile(std::max(1, line.others - 1));
  const double more = std::pow(Width(line) * by_few / width, 2) - 1;
  return std::max(more * line.others / kSpeedupShare, 1.0);
}

// Units with many samples that are in no table of the report.
void AddUnknown(const ExperimentTable& table, const PointAnalysis& point, const PrecisionGoal& goal,
                int min_speedups, PrecisionState* state) {
  std::set<size_t> known;
  for (const LineAnalysis& line : point.lines) known.insert(line.unit);
  for (const LineSetAside& line : point.set_aside) {
    if (line.reason == SetAsideReason::kNotTried) continue;
    known.insert(line.unit);
    // More of the same does not help the other reasons.
    const bool lacks_experiments =
        line.reason == SetAsideReason::kFewSpeedups || line.reason == SetAsideReason::kNoBaseline ||
        line.reason == SetAsideReason::kNoFit ||
        (line.reason == SetAsideReason::kNotKnown && std::isfinite(line.times_needed));
    if (!lacks_experiments || SampleShare(table, line.unit) < goal.min_share) continue;
    if (!Counts(line.unit, goal)) continue;
    const double more = line.reason == SetAsideReason::kNotKnown
                            ? (line.times_needed - 1) * line.experiments
                            : line.missing_speedups;
    state->open.push_back({line.unit, std::max(more, 1.0) / kSpeedupShare});
  }
  for (size_t unit = 0; unit < table.units.size(); ++unit) {
    if (known.count(unit) != 0 || !Counts(unit, goal)) continue;
    if (SampleShare(table, unit) < goal.min_share) continue;
    state->open.push_back({unit, min_speedups / kSpeedupShare});
  }
}

// The time until the open units have their experiments: some are drawn for them, and random samples
// give them others.
uint64_t Remaining(const ExperimentTable& table, const PrecisionGoal& goal,
                   const std::vector<OpenUnit>& open) {
  if (open.empty() || table.experiments.empty()) return 0;
  double needed = 0;
  double share = 0;
  for (const OpenUnit& unit : open) {
    needed += unit.experiments;
    share += SampleShare(table, unit.unit);
  }
  const double useful = 1 - goal.uniform_share + goal.uniform_share * std::min(share, 1.0);
  const double each_ns =
      static_cast<double>(table.run_time_ns) / static_cast<double>(table.experiments.size());
  const double remaining_ns = needed / useful * each_ns;
  return remaining_ns < kLongestNs ? static_cast<uint64_t>(remaining_ns) : 0;
}

}  // namespace

double DrawWeight(const OpenUnit& open) { return std::min(open.experiments, kMostAtOnce); }

PrecisionState JudgePrecision(const ExperimentTable& table, const Analysis& analysis,
                              const PrecisionGoal& goal) {
  PrecisionState state;
  if (analysis.points.empty()) return state;
  const PointAnalysis& point = PointThatCounts(table, analysis);
  AddUnknown(table, point, goal, analysis.options.min_speedups, &state);
  const bool all_have_figures = state.open.empty() && !point.lines.empty();
  double widest = 0;
  double whole = 0;
  for (const LineAnalysis* line : TopLines(point, goal)) {
    widest = std::max(widest, Width(*line));
    whole = std::max(whole, line->slope.high - line->slope.low);
    const bool has_few = goal.verdict_is_enough && line->others < goal.min_experiments;
    if (has_few) {
      state.open.push_back({line->unit, (goal.min_experiments - line->others) / kSpeedupShare});
    } else if (Width(*line) > goal.width) {
      state.open.push_back({line->unit, ExperimentsNeeded(*line, goal.width)});
    }
  }
  if (all_have_figures) {
    state.width = widest;
    state.whole_width = whole;
  }
  state.reached = all_have_figures && state.open.empty();
  state.remaining_ns = Remaining(table, goal, state.open);
  return state;
}

}  // namespace coz::report
