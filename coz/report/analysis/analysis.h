// What a profile says about each line at each progress point: slope, predicted program speedups,
// verdict, rank.
//
// Shape    one PointAnalysis per progress point; its lines are ranked, and each line with
//          experiments, or with kLeastShareOfRow of the samples, is in `lines` or in `set_aside`,
//          never lost
// Units    speedups, slopes, shares: fractions. A slope of 0.4: making the line x faster makes the
//          program 0.4·x faster
// Errors   none
// Threads  safe: a pure function
// Signals  not async-signal-safe
// Source   the paper (Curtsinger, Berger, SOSP 2015): pooled p_s, set-aside rules, phase
//          correction; docs/design/statistics.md
//
// Baselines. An experiment at speedup 0 inserts no delay whatever line was selected, so it is a
// baseline for every line. For line L it counts with the ratio of L's share of its samples to L's
// share in L's own experiments (at most 2): that is how likely it would have been made for L, as
// lines are selected by random samples. So baselines from phases without L do not mix in, and
// intervals get much narrower than with L's own baselines alone.
//
// Phases. Experiments in which L had no sample say nothing about L and are left out. The rest show
// the effect while L is active. The effect on the whole run is this times (L's share of samples in
// all baselines) / (L's share of samples in its own baselines). The paper uses rates per time. We
// use shares of samples, and of baselines alone: in a thread that does the same whatever becomes of
// the visits, a virtual speedup of L makes samples fewer but not those of L. The factor is applied
// when it differs from 1 by more than its error explains.
//
// Intervals. Those of slopes, speedups and curves hold what is systematic too (systematic_error.h);
// `statistical_slope` is what experiments alone tell, and what more of them make narrower.
//
// Small lines. A line that takes little CPU time by the clock cannot bring more than that
// (`gain_limit`). Where that is within what counts as no gain, it needs no experiments for its
// verdict.
//
// Outliers. Experiments that took far longer or shorter than those like them are left out
// (outliers.h).
#ifndef COZ_REPORT_ANALYSIS_ANALYSIS_H_
#define COZ_REPORT_ANALYSIS_ANALYSIS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/sampling_slowdown.h"
#include "coz/report/analysis/systematic_error.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/curve.h"
#include "coz/report/statistics/statistics.h"

namespace coz::report {

struct AnalysisOptions {
  // A line with fewer distinct speedups above 0 is set aside. Lowered to what fixed speedups allow.
  // A line is judged by its interval. With three speedups its own experiments vary too, so that the
  // interval is not only that of the baselines.
  int min_speedups = 3;
  // An experiment with fewer visits to the point is not used for that point.
  uint64_t min_visits = 5;
  // A slope whose interval lies within ± this is "no gain".
  double no_effect_slope = 0.10;
  // A pause costs a thread more than it lasts, the more so the longer it is overslept. This part of
  // the overslept time may look like a loss of speed, so it is not taken for one.
  double pause_cost_part = 1.0 / 3;
  // Only lines whose q-value is at most this are called "worth it" or "hurts", and only where the
  // gain that is shown (quoted_gain.h) leaves out the other.
  double false_discovery_rate = 0.05;
  // Leave out speedups and curve: for one who looks again and again, and at intervals alone.
  bool slopes_only = false;
};

// A unit without experiments and with fewer of the samples has no row of its own.
inline constexpr double kLeastShareOfRow = 0.005;
// The share of a unit's experiments that are no baselines.
inline constexpr double kSpeedupShare = 0.75;

enum class Verdict { kFaster, kSlower, kNoEffect, kCannotTell };

struct LineAnalysis {
  size_t unit = 0;  // index into ExperimentTable.units
  Verdict verdict = Verdict::kCannotTell;
  Estimate slope;  // of the whole run
  // The same by the variation between experiments alone; p_value and q_value are by this one.
  Estimate statistical_slope;
  double slope_df = 0;         // degrees of freedom of its interval
  SystematicError systematic;  // in program speedup of the whole run
  // Probability that luck alone makes so steep a slope: for this line alone, and among all lines of
  // the point (Benjamini-Hochberg).
  double p_value = 1;
  double q_value = 1;
  std::vector<SpeedupEstimate> speedups;
  Curve curve;  // of the whole run
  // Index into speedups of the strongest prediction: the highest lower bound, so that luck is not
  // rewarded. For lines that slow the program down, or may: the lowest upper bound.
  size_t best = 0;
  // What slope and speedups were multiplied by; 1 if phases make no difference.
  double phase_factor = 1;
  Estimate slope_while_active;  // before phase correction
  // The most that the program gains where the line takes no time any more, by its samples in
  // baselines; infinite: not known. At latency points it never is.
  double gain_limit = std::numeric_limits<double>::infinity();
  // gain_limit tells the verdict, as experiments cannot. It bounds slope and curve, too.
  bool by_samples = false;
  // How far below 0 the cost of pauses alone may take the slope. At least 0.
  double pause_allowance = 0;
  // The time in ns that threads run between two waits, where samples were too coarse for it. The
  // slope looks like no effect, but one may have been missed, so there is no verdict. Else 0.
  double missed_in_stretch_ns = 0;
  bool missed_by_perf_events =
      false;  // perf events cost too much at a switch; else samples of CPU timers were too coarse
  int baselines = 0;         // made for this line
  int pooled_baselines = 0;  // made for other lines, with this line active
  int others = 0;            // speedup above 0
  int outliers = 0;  // of all these, spoilt by something from outside (outliers.h); not used

  // False where the run's own figures say that it went wrong: systematic.doubts say how.
  bool IsSure() const { return systematic.doubts.empty(); }
};

// kNotKnown: the slope may be anything, see IsKnown. kSmall: no gain, by gain_limit alone.
// kNotTried: it has no experiment, and no session was told to try others alone.
enum class SetAsideReason {
  kNoBaseline,
  kFewSpeedups,
  kFewVisits,
  kNeverActive,
  kNoFit,
  kNotKnown,
  kSmall,
  kNotTried
};

struct LineSetAside {
  size_t unit = 0;  // index into ExperimentTable.units
  SetAsideReason reason = SetAsideReason::kFewSpeedups;
  int experiments = 0;
  int missing_speedups = 0;
  // kNotKnown: how often the experiments made would make the slope known. At least 1; infinite
  // where no number of them does. kNotTried: how long a run, by this one, is likely to have enough
  // experiments of it.
  double times_needed = 1;
  double gain_limit = std::numeric_limits<double>::infinity();  // as in LineAnalysis
};

// Whether a slope is a figure that a reader can use. It is none where its 95 % interval is wider to
// each side than from nothing to all, and than the slope itself. No output prints such a slope:
// Analyze sets its line aside.
bool IsKnown(const Estimate& slope);

struct PointAnalysis {
  size_t point = 0;  // index into ExperimentTable.points
  // Decided lines first, those by their samples last of them, then those that cannot be told yet.
  // Each part by slope, then lower bound.
  std::vector<LineAnalysis> lines;
  // By samples, most first; those of kSmall after the others.
  std::vector<LineSetAside> set_aside;
  int low_visit_experiments = 0;
  int idle_experiments = 0;    // of a latency point: with visits, and no request seen under way
  int absent_experiments = 0;  // in which the point was not there throughout
  std::optional<SamplingSlowdown> sampling_slowdown;
};

struct Analysis {
  AnalysisOptions options;            // as used
  std::vector<PointAnalysis> points;  // most visited first
  int experiments = 0;
  int baselines = 0;
  int tainted = 0;  // not used
  int taints_by_reason[profile::Taint::Reason_ARRAYSIZE] = {};
};

Analysis Analyze(const profile::Profile& profile, const ExperimentTable& table,
                 const AnalysisOptions& options = {});

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_ANALYSIS_H_
