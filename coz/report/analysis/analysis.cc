#include "coz/report/analysis/analysis.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "coz/report/analysis/coarse_samples.h"
#include "coz/report/analysis/delay_factor.h"
#include "coz/report/analysis/experiment_index.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/quoted_gain.h"
#include "coz/report/analysis/sampling_slowdown.h"
#include "coz/report/analysis/systematic_error.h"
#include "coz/report/analysis/timed_observation.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/curve.h"
#include "coz/report/statistics/multiple_testing.h"
#include "coz/report/statistics/outliers.h"
#include "coz/report/statistics/statistics.h"
#include "coz/report/statistics/time_blocks.h"

namespace coz::report {
namespace {

// A phase factor this near to 1 is not worth a second figure.
constexpr double kPhaseTolerance = 0.05;
// One beyond this, or below its inverse, is possible phases even where baselines are too few to be
// sure. What is nearer may be chance, in programs without any.
constexpr double kPossiblePhases = 1.5;
constexpr double kMaxBaselineWeight = 2;
// Of the time of a visit; a slope may say that less is left.
constexpr double kLeastLeft = 0.1;
// Experiments of a unit, where hardly any were made at all.
constexpr double kLeastEachRun = 0.01;

// The half width up to which a slope is a figure.
double LargestKnown(const Estimate& slope) { return std::max(1.0, std::fabs(slope.value)); }

struct PhaseCorrection {
  double factor = 1;
  double error = 0;  // relative standard error
  // What the factor would be, did baselines tell it well enough.
  double possible_factor = 1;
};

// What tells of units without experiments whether one may still come.
struct Chances {
  std::vector<bool> may_be_tried;  // by unit
  double experiments = 0;          // made of all units
};

// A run with `--fixed-line` tries no other unit, and none tries what is given.
Chances ChancesOf(const profile::Profile& profile, const ExperimentTable& table) {
  bool any_unit = false;
  std::set<std::string> given;
  for (const profile::Session& session : profile.session()) {
    any_unit |= session.options().fixed_line_size() == 0;
    if (!session.options().given().empty()) given.insert(session.options().given());
  }
  Chances chances;
  for (const UnitRow& unit : table.units) {
    const std::string name = unit.Name();
    const bool is_given = std::any_of(given.begin(), given.end(), [&name](const std::string& one) {
      return absl::EndsWith(name, one);
    });
    chances.may_be_tried.push_back(any_unit && !is_given);
  }
  for (const ExperimentRow& row : table.experiments) chances.experiments += row.pooled;
  return chances;
}

class PointAnalyzer {
 public:
  PointAnalyzer(const ExperimentTable& table, const ExperimentIndex& index,
                const CoarseSamples& coarse, const std::set<uint64_t>& kernel_sampled,
                const HaltedWakes& halted_wakes, const Chances& chances,
                const AnalysisOptions& options, size_t point)
      : table_(table),
        index_(index),
        coarse_(coarse),
        kernel_sampled_(kernel_sampled),
        halted_wakes_(halted_wakes),
        chances_(chances),
        options_(options) {
    result_.point = point;
    result_.sampling_slowdown = EstimateSamplingSlowdown(table, point, options.min_visits);
    factor_ = DelayFactorOf(table, point);
    // A run ends once, so one visit is all that an end-to-end experiment can have.
    end_to_end_ = table.points[point].kind == profile::PROGRESS_POINT_KIND_END_TO_END;
    usable_.resize(table.experiments.size());
    for (size_t i = 0; i < table.experiments.size(); ++i) {
      usable_[i] = Usable(table.experiments[i]);
      const bool tainted = table.experiments[i].IsTainted();
      if (tainted || usable_[i] != nullptr) continue;
      if (IsLeftOut(table.experiments[i])) continue;
      NotUsed(table.experiments[i]) += static_cast<int>(table.experiments[i].pooled);
    }
  }

  PointAnalysis Run() {
    for (const auto& [unit, rows] : index_.Selected()) AnalyzeUnit(unit, rows);
    JudgeAll();
    SetAsideUnknown();
    JudgeSmall();
    Rank();
    return std::move(result_);
  }

 private:
  bool IsLeftOut(const ExperimentRow& row) const {
    const auto has_it = [&](const auto& one) {
      return one.point == result_.point && one.Has(row.session, row.start_ns, row.block);
    };
    return std::any_of(table_.warm_ups.begin(), table_.warm_ups.end(), has_it) ||
           std::any_of(table_.wind_downs.begin(), table_.wind_downs.end(), has_it);
  }

  bool WasThere(const ExperimentRow& row) const {
    return table_.points[result_.point].WasThere(row.session, row.start_ns,
                                                 row.start_ns + row.elapsed_ns);
  }

  // The count of those that are not used for the same reason.
  int& NotUsed(const ExperimentRow& row) {
    if (!WasThere(row)) return result_.absent_experiments;
    const PointSeen* seen = EnoughSeen(row);
    return seen != nullptr ? result_.idle_experiments : result_.low_visit_experiments;
  }

  // What the experiment saw of the point, if that was enough.
  const PointSeen* EnoughSeen(const ExperimentRow& row) const {
    const uint64_t enough = end_to_end_ ? 1 : options_.min_visits;
    for (const PointSeen& seen : row.points) {
      if (seen.point == result_.point) return seen.least_visits >= enough ? &seen : nullptr;
    }
    return nullptr;
  }

  const PointSeen* Usable(const ExperimentRow& row) const {
    const PointSeen* seen = EnoughSeen(row);
    return seen != nullptr && seen->duration > 0 ? seen : nullptr;
  }

  // What is left of the experiment's time for this point; above 0 where that is so of the row.
  double LeftNs(const ExperimentRow& row) const {
    const double effective_ns = static_cast<double>(row.effective_duration_ns);
    if (factor_ == nullptr) return effective_ns;
    return LeftByFactor(static_cast<double>(row.elapsed_ns), effective_ns, factor_->used);
  }

  // Of delays that took another time than their own: two standard errors, in units of slope.
  void SetDelayError(const std::vector<size_t>& own, double slope, ErrorFacts* facts) const {
    if (factor_ == nullptr) return;
    double delays = 0;
    double squares = 0;
    for (size_t i : own) {
      const ExperimentRow& row = table_.experiments[i];
      const double speedup = row.virtual_speedup;
      // Of what the visits take in baselines.
      const double left = std::clamp(1 - slope * speedup, kLeastLeft, 2.0);
      const double delay_ns =
          static_cast<double>(row.elapsed_ns) - static_cast<double>(row.effective_duration_ns);
      delays += row.pooled * speedup * delay_ns / LeftNs(row) * left;
      squares += row.pooled * speedup * speedup;
    }
    facts->delay_factor = factor_->used;
    facts->delay_factor_error = 2 * factor_->error;
    if (squares > 0) facts->delays = facts->delay_factor_error * std::max(0.0, delays / squares);
  }

  TimedObservation Observe(size_t i, double weight) const {
    const ExperimentRow& row = table_.experiments[i];
    const PointSeen& seen = *usable_[i];
    RateObservation o = {row.virtual_speedup, seen.duration, seen.visits, weight};
    o.experiments = static_cast<int>(row.pooled);
    o.is_sum = row.block != 0;
    if (row.effective_duration_ns > 0) {
      o.elapsed = seen.duration * static_cast<double>(row.elapsed_ns) / LeftNs(row);
    }
    // 0 in old profiles, and where no sample fell into the unit; NaN where it could not be
    // measured.
    if (row.achieved_virtual_speedup > 0) {
      o.achieved_virtual_speedup = row.achieved_virtual_speedup;
    }
    // Runs of an end-to-end profile hold one experiment each: they are one sequence.
    if (end_to_end_) return {0, row.session_start_unix_ns + row.start_ns, o};
    return AtItsTime(row, o);
  }

  void SetAside(size_t unit, SetAsideReason reason, size_t experiments, int missing = 0) {
    result_.set_aside.push_back({unit, reason, static_cast<int>(experiments), missing});
  }

  size_t DistinctSpeedups(const std::vector<size_t>& own) const {
    std::set<int> speedups;
    for (size_t i : own) speedups.insert(SpeedupKey(table_.experiments[i].virtual_speedup));
    return speedups.size() - speedups.count(0);
  }

  int MissingSpeedups(size_t distinct) const {
    return std::max(0, options_.min_speedups - static_cast<int>(distinct));
  }

  void AnalyzeUnit(size_t unit, const std::vector<size_t>& all) {
    std::vector<size_t> own;
    bool active = false;
    for (size_t i : all) {
      if (table_.experiments[i].unit_samples.Of(unit) == 0) continue;
      active = true;
      if (usable_[i] != nullptr) own.push_back(i);
    }
    if (!active) return SetAside(unit, SetAsideReason::kNeverActive, all.size());
    if (own.empty()) return SetAside(unit, SetAsideReason::kFewVisits, all.size());

    LineAnalysis line;
    line.unit = unit;
    const SampleShare share = SampleShare::Of(table_, own, unit);
    const std::vector<RateObservation> observations = Gather(own, share.value, &line);
    const int missing = MissingSpeedups(DistinctSpeedups(own));
    if (missing > 0) return SetAside(unit, SetAsideReason::kFewSpeedups, all.size(), missing);
    if (line.baselines + line.pooled_baselines == 0) {
      return SetAside(unit, SetAsideReason::kNoBaseline, all.size());
    }
    const int not_compared = MissingSpeedups(ComparedSpeedups(observations));
    if (not_compared > 0) {
      return SetAside(unit, SetAsideReason::kFewSpeedups, all.size(), not_compared);
    }
    const std::optional<SlopeEstimate> slope = EstimateSlope(observations);
    if (!slope.has_value() || !std::isfinite(slope->value)) {
      return SetAside(unit, SetAsideReason::kNoFit, all.size());
    }
    line.slope_while_active = *slope;
    line.pause_allowance = PauseAllowance(own);
    line.missed_in_stretch_ns = CoarseStretchNs(own);
    line.gain_limit = GainLimit(unit);
    line.missed_by_perf_events = std::any_of(own.begin(), own.end(), [this](size_t i) {
      return coarse_.IsByPerfEvents(table_.experiments[i]);
    });
    line.p_value = slope->p_value;
    line.slope_df = slope->df;
    if (!options_.slopes_only) {
      line.speedups = EstimateSpeedups(observations);
      line.curve = FitCurve(WithoutDrift(observations), *slope);
    }
    ErrorFacts facts = FactsOf(own);
    SetDelayError(own, slope->value, &facts);
    const PhaseCorrection phases = Phases(unit, own);
    facts.possible_phase_factor = phases.possible_factor;
    Raise(1 + facts.raised, &line);
    Correct(phases, &line);
    line.systematic = SystematicErrorOf(facts);
    Widen(&line);
    StayBelowLimit(&line);
    result_.lines.push_back(std::move(line));
  }

  // The line's own experiments, and other lines' baselines, weighted by how active the line was in
  // them.
  std::vector<RateObservation> Gather(const std::vector<size_t>& own, double own_share,
                                      LineAnalysis* line) const {
    std::vector<TimedObservation> observations;
    observations.reserve(own.size() + index_.BaselinesWith(line->unit).size());
    for (size_t i : own) {
      const ExperimentRow& row = table_.experiments[i];
      (row.IsBaseline() ? line->baselines : line->others) += static_cast<int>(row.pooled);
      observations.push_back(Observe(i, 1));
    }
    for (const auto& [i, samples] : index_.BaselinesWith(line->unit)) {
      const ExperimentRow& row = table_.experiments[i];
      if (row.unit == line->unit || usable_[i] == nullptr) continue;
      const double share = static_cast<double>(samples) / static_cast<double>(row.total_samples);
      line->pooled_baselines += static_cast<int>(row.pooled);
      observations.push_back(Observe(i, std::min(kMaxBaselineWeight, share / own_share)));
    }
    std::vector<RateObservation> in_blocks = InBlocks(std::move(observations));
    const std::vector<size_t> outliers = FindOutliers(in_blocks);
    line->outliers = static_cast<int>(outliers.size());
    for (auto i = outliers.rbegin(); i != outliers.rend(); ++i) {
      in_blocks.erase(in_blocks.begin() + static_cast<std::ptrdiff_t>(*i));
    }
    return in_blocks;
  }

  // Of a rate alone: of the time in a queue a line may take a larger share than of the CPU time.
  double GainLimit(size_t unit) const {
    const PointRow& point = table_.points[result_.point];
    const bool is_rate = point.kind != profile::PROGRESS_POINT_KIND_LATENCY && point.visits > 0;
    return is_rate ? index_.GainLimit(unit) : std::numeric_limits<double>::infinity();
  }

  // In units of slope: time per virtual speedup.
  double PauseAllowance(const std::vector<size_t>& rows) const {
    double overslept_ns = 0;
    double line_ns = 0;
    for (size_t i : rows) {
      const ExperimentRow& e = table_.experiments[i];
      if (e.virtual_speedup <= 0) continue;
      // The excess is a sum over threads, and all but the line's own pause.
      const uint32_t pausing = std::max(2u, e.live_threads) - 1;
      overslept_ns += static_cast<double>(e.excess_ns) / pausing;
      line_ns += e.virtual_speedup * static_cast<double>(e.effective_duration_ns);
    }
    return line_ns > 0 ? options_.pause_cost_part * overslept_ns / line_ns : 0;
  }

  // 0 unless a tenth or more of the line's experiments had samples that were too coarse.
  double CoarseStretchNs(const std::vector<size_t>& rows) const {
    size_t coarse = 0;
    double sum_ns = 0;
    for (size_t i : rows) {
      const double stretch_ns = coarse_.StretchNs(table_.experiments[i]);
      coarse += stretch_ns > 0 ? 1 : 0;
      sum_ns += stretch_ns;
    }
    return coarse * 10 >= rows.size() && coarse > 0 ? sum_ns / static_cast<double>(coarse) : 0;
  }

  // By baselines alone. Where threads do other things beside the visits, an experiment that speeds
  // visits up raises the unit's share of samples, with no phase about it.
  PhaseCorrection Phases(size_t unit, const std::vector<size_t>& own) const {
    std::vector<size_t> own_baselines;
    std::copy_if(own.begin(), own.end(), std::back_inserter(own_baselines),
                 [this](size_t i) { return table_.experiments[i].IsBaseline(); });
    const SampleShare in_own = SampleShare::Of(table_, own_baselines, unit);
    const SampleShare in_run = index_.ShareInBaselines(unit);
    if (in_own.value <= 0 || in_run.value <= 0) return {};
    const double factor = in_run.value / in_own.value;
    const double error = std::hypot(in_own.error, in_run.error);
    if (std::fabs(factor - 1) < kPhaseTolerance) return {};
    if (std::fabs(std::log(factor)) >= 2.5 * error) return {factor, error, 1};
    return {1, 0, std::fabs(std::log(factor)) > std::log(kPossiblePhases) ? factor : 1};
  }

  static Estimate Scale(const Estimate& estimate, const PhaseCorrection& phases) {
    Estimate scaled;
    scaled.value = estimate.value * phases.factor;
    const double own = (estimate.high - estimate.low) / 2 * phases.factor;
    const double half = std::hypot(own, 2 * phases.error * scaled.value);
    scaled.low = scaled.value - half;
    scaled.high = scaled.value + half;
    return scaled;
  }

  static void Correct(const PhaseCorrection& phases, LineAnalysis* line) {
    line->phase_factor = phases.factor;
    line->slope = line->slope_while_active;
    if (phases.factor == 1) return;
    line->slope = Scale(line->slope, phases);
    ScaleCurve(phases, line);
  }

  static void ScaleCurve(const PhaseCorrection& phases, LineAnalysis* line) {
    for (SpeedupEstimate& s : line->speedups) s.program_speedup = Scale(s.program_speedup, phases);
    for (CurvePoint& p : line->curve.points) p.program_speedup = Scale(p.program_speedup, phases);
    if (line->curve.bend.has_value()) {
      line->curve.bend->slope_before = Scale(line->curve.bend->slope_before, phases);
      line->curve.bend->slope_after = Scale(line->curve.bend->slope_after, phases);
    }
  }

  // What sampling takes of the time of a visit is in the unit in proportion, or all of it is
  // elsewhere, as with events that are set anew at each switch. In the first case effects are
  // shares of a bare visit, too. In the second they are that much larger. So half is added, and the
  // rest is in the interval.
  static void Raise(double factor, LineAnalysis* line) {
    if (factor == 1) return;
    line->slope_while_active = Scale(line->slope_while_active, {factor, 0});
    ScaleCurve({factor, 0}, line);
  }

  ErrorFacts FactsOf(const std::vector<size_t>& own) const {
    const auto kernel_is_sampled = [this](uint64_t session) {
      return kernel_sampled_.count(session) != 0;
    };
    ErrorFacts facts = GatherErrorFacts(table_, own, result_.sampling_slowdown, kernel_is_sampled);
    if (end_to_end_) return facts;
    double experiments = 0;
    for (size_t i : own) {
      facts.visits += static_cast<double>(usable_[i]->least_visits);
      experiments += table_.experiments[i].pooled;
    }
    facts.visits /= experiments;
    AddHalts(table_, own, usable_, halted_wakes_, &facts);
    return facts;
  }

  // Adds what is systematic to all intervals.
  static void Widen(LineAnalysis* line) {
    const SystematicError& error = line->systematic;
    line->statistical_slope = line->slope;
    line->slope = error.Widen(line->slope, 1);
    line->slope_while_active = error.Widen(line->slope_while_active, 1);
    for (SpeedupEstimate& s : line->speedups) {
      s.program_speedup = error.Widen(s.program_speedup, s.virtual_speedup);
    }
    for (CurvePoint& p : line->curve.points) {
      p.program_speedup = error.Widen(p.program_speedup, p.virtual_speedup);
    }
    if (line->curve.bend.has_value()) WidenBend(error, &line->curve);
  }

  // What is above the limit is chance, or a curve that follows it. An interval of the slope that is
  // above it as a whole stands: it contradicts.
  static void StayBelowLimit(LineAnalysis* line) {
    const double limit = line->gain_limit;
    if (line->missed_in_stretch_ns > 0 || !(line->slope.low <= limit)) return;
    const double lowest = line->slope.low;
    line->slope = Below(limit, lowest, line->slope);
    for (SpeedupEstimate& s : line->speedups) {
      const double at = s.virtual_speedup;
      s.program_speedup = Below(limit * at, lowest * at, s.program_speedup);
    }
    for (CurvePoint& p : line->curve.points) {
      const double at = p.virtual_speedup;
      p.program_speedup = Below(limit * at, lowest * at, p.program_speedup);
    }
  }

  // `lowest`: what the value may be as well, where the estimate is wrong, as it is above the limit.
  static Estimate Below(double limit, double lowest, Estimate estimate) {
    if (estimate.value > limit) estimate.low = std::min({estimate.low, lowest, limit});
    estimate.value = std::min(estimate.value, limit);
    estimate.high = std::min(estimate.high, limit);
    return estimate;
  }

  // Two straight lines meet at the bend. What may be wrong with the height of one moves it along
  // the other by that much over the difference of their slopes.
  static void WidenBend(const SystematicError& error, Curve* curve) {
    Bend& bend = *curve->bend;
    const double place = bend.virtual_speedup;
    const double slopes = std::fabs(bend.slope_before.value - bend.slope_after.value);
    const double moved = error.HalfWidth(curve->At(place).value, place) / slopes;
    bend.low = std::max(0.0, place - std::hypot(place - bend.low, moved));
    bend.high = std::min(curve->points.back().virtual_speedup,
                         place + std::hypot(bend.high - place, moved));
    bend.slope_before = error.Widen(bend.slope_before, 1);
    bend.slope_after = error.Widen(bend.slope_after, 1);
  }

  // After all were judged, as a line whose slope is not known was looked at, too.
  void SetAsideUnknown() {
    const auto first =
        std::stable_partition(result_.lines.begin(), result_.lines.end(),
                              [](const LineAnalysis& line) { return IsKnown(line.slope); });
    for (auto line = first; line != result_.lines.end(); ++line) {
      const int made = line->baselines + line->others;
      SetAside(line->unit, SetAsideReason::kNotKnown, static_cast<size_t>(made));
      result_.set_aside.back().times_needed = TimesNeeded(*line);
    }
    result_.lines.erase(first, result_.lines.end());
  }

  // Chance shrinks with the root of the number of experiments, and the rest does not.
  static double TimesNeeded(const LineAnalysis& line) {
    const double known = LargestKnown(line.slope);
    const double rest = line.systematic.HalfWidth(line.slope.value, 1);
    if (!(rest < known)) return std::numeric_limits<double>::infinity();
    const Estimate& chance = line.statistical_slope;
    const double half = (chance.high - chance.low) / 2;
    constexpr double kAtMost = 1000;
    if (!std::isfinite(half)) return 2;
    return std::clamp(half * half / (known * known - rest * rest), 1.0, kAtMost);
  }

  // One line's verdict depends on how many were looked at.
  void JudgeAll() {
    std::vector<double> p_values;
    for (const LineAnalysis& line : result_.lines) p_values.push_back(line.p_value);
    const std::vector<double> q_values = QValues(p_values);
    for (size_t i = 0; i < result_.lines.size(); ++i) {
      result_.lines[i].q_value = q_values[i];
      Judge(&result_.lines[i]);
    }
  }

  // Whether its samples tell that it brings nothing, and its experiments do not contradict.
  bool IsSmall(const LineAnalysis& line) const {
    return line.gain_limit <= options_.no_effect_slope && line.missed_in_stretch_ns == 0 &&
           line.slope.low <= line.gain_limit && line.slope.high >= 0;
  }

  // What experiments of a small line seem to say beyond its limit is chance. What makes them
  // unsure is no doubt of its samples.
  static void LimitGains(LineAnalysis* line) {
    line->by_samples = true;
    line->systematic.doubts.clear();
    // The shape is chance, too.
    for (CurvePoint& p : line->curve.points) {
      const double at = p.virtual_speedup;
      p.program_speedup = {line->slope.value * at, line->slope.low * at, line->slope.high * at};
    }
    line->curve.bend.reset();
    line->curve.weight_of_bent = 0;
  }

  // Whether the gain that is shown beside a gain or a loss leaves out the other. What is systematic
  // is a larger part of it than of the slope.
  static bool IsQuotedSo(const LineAnalysis& line) {
    const Estimate quoted = QuotedGainOf(line).program_speedup;
    if (line.verdict == Verdict::kFaster) return quoted.low > 0;
    return line.verdict != Verdict::kSlower || quoted.high < 0;
  }

  void Judge(LineAnalysis* line) const {
    const Estimate& slope = line->slope;
    const bool found = line->q_value <= options_.false_discovery_rate;
    const double allowance = line->pause_allowance * line->phase_factor;
    const bool is_small = slope.low >= -options_.no_effect_slope - allowance &&
                          slope.high <= options_.no_effect_slope;
    if (!is_small && IsSmall(*line)) LimitGains(line);
    if (!is_small) line->missed_in_stretch_ns = 0;
    if (is_small) {
      if (line->missed_in_stretch_ns == 0) line->verdict = Verdict::kNoEffect;
    } else if (line->by_samples) {
      line->verdict = Verdict::kNoEffect;
    } else if (found && slope.low > 0) {
      line->verdict = Verdict::kFaster;
    } else if (found && slope.high < -allowance) {
      line->verdict = Verdict::kSlower;
    }
    if (!IsQuotedSo(*line)) line->verdict = Verdict::kCannotTell;
    const bool open = line->verdict == Verdict::kCannotTell;
    line->best =
        Strongest(line->speedups, line->verdict == Verdict::kSlower || (open && slope.high < 0));
  }

  // Lines that have too few experiments for a verdict, or none, and need none.
  void JudgeSmall() {
    std::vector<bool> is_looked_at(table_.units.size());
    for (const LineAnalysis& line : result_.lines) is_looked_at[line.unit] = true;
    for (LineSetAside& line : result_.set_aside) {
      is_looked_at[line.unit] = true;
      line.gain_limit = GainLimit(line.unit);
      if (line.gain_limit <= options_.no_effect_slope) line.reason = SetAsideReason::kSmall;
    }
    for (size_t unit = 0; unit < table_.units.size(); ++unit) {
      const bool is_seen = index_.ShareInBaselines(unit).value >= kLeastShareOfRow;
      const double limit = GainLimit(unit);
      if (is_looked_at[unit] || !is_seen || limit > options_.no_effect_slope) continue;
      is_looked_at[unit] = true;
      SetAside(unit, SetAsideReason::kSmall, 0);
      result_.set_aside.back().gain_limit = limit;
    }
    for (size_t unit = 0; unit < table_.units.size(); ++unit) {
      if (!is_looked_at[unit] && chances_.may_be_tried[unit]) SetAsideUntried(unit);
    }
  }

  // A unit with many samples that chance has not chosen yet.
  void SetAsideUntried(size_t unit) {
    if (table_.samples == 0) return;
    const double share =
        static_cast<double>(table_.units[unit].samples) / static_cast<double>(table_.samples);
    if (share < kLeastShareOfRow) return;
    SetAside(unit, SetAsideReason::kNotTried, 0, options_.min_speedups);
    // Experiments choose units by their samples.
    const double each_run = share * chances_.experiments;
    const double needed = options_.min_speedups / kSpeedupShare;
    result_.set_aside.back().gain_limit = GainLimit(unit);
    result_.set_aside.back().times_needed = 1 + needed / std::max(each_run, kLeastEachRun);
  }

  static size_t Strongest(const std::vector<SpeedupEstimate>& speedups, bool slower) {
    const auto strength = [slower](const SpeedupEstimate& s) {
      const Estimate& e = s.program_speedup;
      return slower ? std::make_pair(-e.high, -e.value) : std::make_pair(e.low, e.value);
    };
    const auto best =
        std::max_element(speedups.begin(), speedups.end(),
                         [&strength](const SpeedupEstimate& a, const SpeedupEstimate& b) {
                           return strength(a) < strength(b);
                         });
    return static_cast<size_t>(best - speedups.begin());
  }

  void Rank() {
    std::stable_sort(result_.lines.begin(), result_.lines.end(),
                     [](const LineAnalysis& a, const LineAnalysis& b) {
                       const bool a_open = a.verdict == Verdict::kCannotTell;
                       const bool b_open = b.verdict == Verdict::kCannotTell;
                       if (a_open != b_open) return b_open;
                       if (a.by_samples != b.by_samples) return b.by_samples;
                       if (a.by_samples) return a.gain_limit > b.gain_limit;
                       if (a.slope.value != b.slope.value) return a.slope.value > b.slope.value;
                       return a.slope.low > b.slope.low;
                     });
    std::stable_sort(result_.set_aside.begin(), result_.set_aside.end(),
                     [this](const LineSetAside& a, const LineSetAside& b) {
                       const bool a_small = a.reason == SetAsideReason::kSmall;
                       const bool b_small = b.reason == SetAsideReason::kSmall;
                       if (a_small != b_small) return b_small;
                       return table_.units[a.unit].samples > table_.units[b.unit].samples;
                     });
  }

  const ExperimentTable& table_;
  const ExperimentIndex& index_;
  const CoarseSamples& coarse_;
  const std::set<uint64_t>& kernel_sampled_;
  const HaltedWakes& halted_wakes_;
  const Chances& chances_;
  const AnalysisOptions& options_;
  const DelayFactor* factor_ = nullptr;  // null: not known
  bool end_to_end_ = false;
  std::vector<const PointSeen*> usable_;  // by row
  PointAnalysis result_;
};

std::set<uint64_t> SessionsWithKernelSamples(const profile::Profile& profile) {
  std::set<uint64_t> sessions;
  for (const profile::Session& session : profile.session()) {
    if (session.kernel_samples_included()) sessions.insert(session.id());
  }
  return sessions;
}

// A run with `--fixed-speedup` cannot have more speedups than were asked for.
int MinSpeedups(const profile::Profile& profile, int wanted) {
  std::set<int> fixed;
  for (const profile::Session& session : profile.session()) {
    if (session.options().fixed_virtual_speedup_size() == 0) return wanted;
    for (double s : session.options().fixed_virtual_speedup()) fixed.insert(SpeedupKey(s));
  }
  fixed.erase(0);
  return fixed.empty() ? wanted : std::min(wanted, static_cast<int>(fixed.size()));
}

}  // namespace

bool IsKnown(const Estimate& slope) {
  return (slope.high - slope.low) / 2 <= LargestKnown(slope);  // false for infinity and NaN
}

Analysis Analyze(const profile::Profile& profile, const ExperimentTable& table,
                 const AnalysisOptions& options) {
  AnalysisOptions effective = options;
  effective.min_speedups = MinSpeedups(profile, options.min_speedups);
  Analysis analysis;
  analysis.options = effective;
  for (const ExperimentRow& row : table.experiments) {
    const int pooled = static_cast<int>(row.pooled);
    analysis.experiments += pooled;
    analysis.baselines += row.IsBaseline() ? pooled : 0;
    analysis.tainted += row.IsTainted() ? pooled : 0;
    for (int reason = 0; reason < profile::Taint::Reason_ARRAYSIZE; ++reason) {
      if (((row.taints >> reason) & 1) != 0) analysis.taints_by_reason[reason] += pooled;
    }
  }
  std::vector<size_t> points(table.points.size());
  std::iota(points.begin(), points.end(), 0);
  std::stable_sort(points.begin(), points.end(), [&table](size_t a, size_t b) {
    return table.points[a].visits > table.points[b].visits;
  });
  const CoarseSamples coarse(profile);
  const std::set<uint64_t> kernel_sampled = SessionsWithKernelSamples(profile);
  const HaltedWakes halted_wakes = HaltedWakesOf(profile);
  const ExperimentIndex index(table, coarse, kernel_sampled);
  const Chances chances = ChancesOf(profile, table);
  for (size_t point : points) {
    analysis.points.push_back(
        PointAnalyzer(table, index, coarse, kernel_sampled, halted_wakes, chances, effective, point)
            .Run());
  }
  return analysis;
}

}  // namespace coz::report
