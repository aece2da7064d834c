// The knobs of the experiment scheduler, with the reason for each default.
//
// Shape    plain data
// Units    ns; fractions
// Errors   Check(): InvalidArgument that names the option and the value
// Threads  compatible
// Signals  none
// Source   docs/design/experiments.md
#ifndef COZ_EXPERIMENT_OPTIONS_H_
#define COZ_EXPERIMENT_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "coz/base/clock.h"
#include "coz/experiment/target.h"

namespace coz::experiment {

struct SchedulerOptions {
  uint64_t sampling_period_ns = kNsPerMs;  // P of the sampler in use, as it really is
  std::optional<uint64_t> seed;            // drawn when not given

  // Units to draw from with equal probability, whatever is sampled; empty: those of random samples.
  std::vector<UnitId> fixed_units;
  // Speedups to draw from with equal probability; empty: 5 %, 10 % ... 100 %. A 0 among them makes
  // no difference in a long list: baselines are drawn with `baseline_probability`. In a short one
  // it keeps the share that it has as one of the list, which is larger.
  std::vector<double> fixed_speedups;
  // One in so many of a unit's experiments, rounded, is a baseline: `speedup_deck.h`. A quarter:
  // every line's every comparison needs the baseline, so it must be the best measured of all.
  double baseline_probability = 0.25;

  // The least share of experiments whose unit is that of a random sample, when units have been put
  // into focus: every unit keeps its chance, and baselines are made at all times and in all phases.
  double uniform_share = 0.5;

  // One experiment that covers the whole run, for programs without progress points.
  bool end_to_end = false;
  // Without a fixed unit, it is drawn from the samples of this first part of the run. Delays start
  // only then.
  uint64_t end_to_end_choice_ns = 100 * kNsPerMs;

  uint64_t progress_warning_ns = 10 * kNsPerSecond;

  // Length of experiments, by the clock. One that has less than half of it as effective duration,
  // because most of it was delay, goes on up to twice as long: otherwise large speedups of lines
  // that do not matter would see the fewest visits and come out worst. (Where the line does matter,
  // visits per elapsed time do not fall.)
  uint64_t min_experiment_ns = 500 * kNsPerMs;
  uint64_t max_experiment_ns = 8 * kNsPerSecond;

  // An experiment whose busiest progress point has fewer visits is extended to twice its length,
  // again and again up to the maximum, and the length stays for the rest of the run. Only the
  // busiest counts, so that a point that is visited now and then silences and lengthens nothing.
  // When there was no visit at all the program may be between two phases: then only this experiment
  // is extended.
  uint64_t min_visits = 5;

  // One bare interval, without samples, for so many experiments, at a random place among them: what
  // samples take is to be known. 0: none. A quarter as long as an experiment, or until the busiest
  // point has had so many visits, but no longer than an experiment: many short ones, so that drift
  // is the same in them as in baselines. In all some 3 % of the time.
  uint64_t experiments_per_bare_interval = 8;
  uint64_t bare_intervals_per_experiment_length = 4;
  uint64_t bare_interval_visits = 25;

  // Delays begin so long before the measurement, baselines alike: what queues between threads held
  // when the line was still slow would count as its speedup's doing. Debts of the lead-in are paid
  // within a sampling period of the start.
  uint64_t lead_in_ns = 20 * kNsPerMs;

  // Between experiments, after the drain: ten sampling periods, so that threads that were late to
  // pay have run and a queue of some milliseconds has passed, for 2 % of the shortest experiment.
  uint64_t cooloff_ns = 10 * kNsPerMs;

  // How often the running experiment is looked at: for the in-flight integral of latency pairs, and
  // otherwise.
  uint64_t latency_look_ns = 2 * kNsPerMs;
  uint64_t look_ns = 25 * kNsPerMs;
  uint64_t drain_look_ns = 200 * kNsPerUs;
  // The drain is given up after two sampling periods, the largest debt, and a slack for threads
  // that wait for a CPU, but never later than the limit. What is owed then is recorded, and is paid
  // in the cooloff or afterwards.
  uint64_t drain_slack_ns = 5 * kNsPerMs;
  uint64_t drain_limit_ns = 100 * kNsPerMs;
  // The target adds no delay after this time without a step; a step that late taints the
  // experiment.
  uint64_t lease_ns = kNsPerSecond;

  absl::Status Check() const;
};

}  // namespace coz::experiment

#endif  // COZ_EXPERIMENT_OPTIONS_H_
