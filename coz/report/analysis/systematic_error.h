// What may be wrong with a line's figures beyond chance, by what the run recorded of itself.
//
// Shape    facts in, one term for each cause that the facts have a trace of. A term says how far
//          off a predicted program speedup may be. Causes have nothing to do with each other, nor
//          with chance, so half widths add up as squares
// Units    shares, virtual and program speedups, slopes: fractions
// Errors   none; what is not recorded counts as absent
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/results.md, whose tables bench/accuracy/coverage.py compares with the constants
//          below; docs/design/statistics.md, "What is systematic"
#ifndef COZ_REPORT_ANALYSIS_SYSTEMATIC_ERROR_H_
#define COZ_REPORT_ANALYSIS_SYSTEMATIC_ERROR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/sampling_slowdown.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/statistics.h"

namespace coz::report {

// What no run can measure of itself: together with intervals of chance of 0.6 points, this holds 95
// in 100 errors of the accuracy study. A smaller virtual speedup than the study's smallest makes it
// smaller, down to nothing at 0.
inline constexpr double kMethodError = 0.01375;
inline constexpr double kLeastStudiedSpeedup = 0.25;
// Where more threads can run than CPUs, the program's or others': per virtual speedup, and of the
// effect.
inline constexpr double kCrowdErrorOfSpeedup = 0.18;
inline constexpr double kCrowdErrorOfEffect = 0.22;
// Gains there are rather predicted too small: too large by at most this share of that.
inline constexpr double kCrowdTooLarge = 0.35;
// A pause is overslept by 60 µs, and 5 µs of that are lost.
inline constexpr double kPauseLoss = 5.0 / 60;

// From so much idle time on a CPU halts: kernel and hypervisor poll for work until then.
inline constexpr double kShortestHaltNs = 200'000;

// Visits of an experiment by which queues between threads may fill or drain in it, so that it has
// them for nothing: coz/testing/sim/coverage_test.cc.
inline constexpr double kVisitsAtEnds = 1.0;

// Who sleeps for kMuchOwed of an experiment wakes at most 20 times in it. With ten times as many
// visits, most come while it sleeps; and where all CPUs are busy, nobody waits for it.
inline constexpr double kVisitsBesideSleeper = 200;

// Sums of figures that are added up in another order differ by less, so this is no cause.
inline constexpr double kLeastTerm = 1e-9;

// Of the time of a visit, and sure: what sampling takes for effects to be raised.
inline constexpr double kLeastToRaise = 0.02;

// From here on a run's own figures say that it went wrong.
// Of the virtual speedup asked for, beyond what chance makes of so few samples.
inline constexpr double kMuchMissed = 0.1;
inline constexpr double kMuchUnseen = 0.1;   // of the CPU time
inline constexpr double kMuchCrowded = 0.2;  // of the experiments
inline constexpr double kMuchOwed = 0.05;    // of an experiment, as in coz/experiment/recorder.cc

// Over the experiments that a line's figures are from.
struct ErrorFacts {
  double achieved_share = 1;    // virtual speedup that pauses made, of what was asked for
  double selected_samples = 0;  // that tell of it; 0: unknown
  double sampling_share = 0;    // of the time of a visit, what sampling takes
  double raised = 0;            // by this share of themselves effects were raised for that
  double unseen_share = 0;      // CPU time by the threads' clocks without a sample, of all
  double crowded_share = 0;     // of the experiments; the next two are of those
  double runnable_threads = 0;
  double cpus = 0;
  double beside_share = 0;    // of the experiments: other programs' threads crowded the CPUs
  double owed = 0;            // what a sleeping thread pays only in the next experiment: slope
  double owed_in_crowds = 0;  // the part of it that was owed where all CPUs were busy
  double delays = 0;  // how far off the time that delays took may be, where controls tell: slope
  double delay_factor = 1;  // which they tell, and its half width
  double delay_factor_error = 0;
  double visits = 0;     // mean of an experiment; 0: all that there are, as end to end, or unknown
  double overslept = 0;  // what pauses lasted longer than asked: slope, were all of it lost
  double halted_wake_ns = 0;  // what the wake of a CPU that has halted takes more
  double halts_share = 0;     // of the time, such wakes at most, one for each visit
  // What effects have to be multiplied by, if the line is active in a part of the run only. 1: it
  // is not, or effects are multiplied already.
  double possible_phase_factor = 1;
};

// Whether pauses missed the virtual speedups asked for by more than chance makes of so few samples.
bool IsMuchMissed(const ErrorFacts& facts);

enum class ErrorCause {
  kMethod,
  kAchieved,
  kSampling,
  kClocks,
  kCrowd,
  kBeside,
  kOwed,
  kPauses,
  kHalts,
  kEnds,
  kPhases,
  kDelays
};

// Where the truth may lie. Few causes make a difference.
enum class Side { kAbove, kBelow };

struct ErrorTerm {
  ErrorCause cause = ErrorCause::kMethod;
  double always = 0;      // from kLeastStudiedSpeedup on
  double of_speedup = 0;  // times the virtual speedup
  double of_effect = 0;   // times the program speedup
  double too_large = 1;   // by this share of the half width a gain may be too large
  double too_small = 1;   // or too small
  double of_loss = 0;     // times the program speedup where that is negative: it may be no loss
  double most = std::numeric_limits<double>::infinity();  // half width

  double HalfWidth(double effect, double virtual_speedup, Side side = Side::kAbove) const;
};

struct SystematicError {
  ErrorFacts facts;
  std::vector<ErrorTerm> terms;
  // The causes for which a verdict is not sure. Empty: the run went well.
  std::vector<ErrorCause> doubts;

  double HalfWidth(double effect, double virtual_speedup, Side side = Side::kAbove) const;
  // The whole interval of a program speedup whose own is of chance alone. A slope is the one at 1.
  Estimate Widen(const Estimate& estimate, double virtual_speedup) const;
};

SystematicError SystematicErrorOf(const ErrorFacts& facts);

// `rows`: indices into table.experiments. `kernel_is_sampled` of a session: else CPU time in the
// kernel has no samples, and nothing is wrong with that.
ErrorFacts GatherErrorFacts(const ExperimentTable& table, const std::vector<size_t>& rows,
                            const std::optional<SamplingSlowdown>& slowdown,
                            const std::function<bool(uint64_t session)>& kernel_is_sampled);

// By session, what the wake of a CPU that has halted takes more, in ns. None where CPUs were kept
// awake, and where it was not measured.
using HaltedWakes = std::map<uint64_t, double>;
HaltedWakes HaltedWakesOf(const profile::Profile& profile);

// A baseline has at most one such wake for each visit, and one for each idle time that is long
// enough. `seen`: by index into table.experiments; not null for `rows`.
void AddHalts(const ExperimentTable& table, const std::vector<size_t>& rows,
              const std::vector<const PointSeen*>& seen, const HaltedWakes& halted_wakes,
              ErrorFacts* facts);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_SYSTEMATIC_ERROR_H_
