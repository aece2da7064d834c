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
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "coz/base/clock.h"
#include "coz/experiment/speedup_deck.h"
#include "coz/experiment/target.h"

namespace coz::experiment {

struct SchedulerOptions {
  uint64_t sampling_period_ns = kNsPerMs;  // P of the sampler in use, as it really is
  std::optional<uint64_t> seed;            // drawn when not given

  // Units to draw from with equal probability, whatever is sampled; empty: those of random samples.
  std::vector<UnitId> fixed_units;
  // Speedups to draw from with equal probability; empty: 5 %, 10 % ... 100 %. A 0 among them raises
  // the share of baselines to its share of the list, where that is above `baseline_probability`.
  std::vector<double> fixed_speedups;
  // The share of a unit's experiments that are baselines, rounded to one in N (`speedup_deck.h`).
  // Every comparison needs the baseline, so it must be measured best.
  double baseline_probability = 0.25;
  // What earlier runs of the program have had of a unit; null: nothing.
  std::function<Dealt(UnitId)> dealt_before;

  // While units are in focus: the least share of experiments whose unit is that of a random sample.
  // So every unit keeps its chance, and baselines are made at all times and in all phases.
  double uniform_share = 0.25;

  // One experiment that covers the whole run, for programs without progress points.
  bool end_to_end = false;
  // Without a fixed unit, it is drawn from the samples of this first part of the run. Delays start
  // after it.
  uint64_t end_to_end_choice_ns = 100 * kNsPerMs;

  uint64_t progress_warning_ns = 10 * kNsPerSecond;

  // Length of experiments, by the clock. One that is more than half delay goes on up to twice as
  // long. Otherwise large speedups of lines that do not matter would see the fewest visits and come
  // out worst. (Where a line matters, visits per elapsed time do not fall.)
  //
  // An experiment is shorter where the one before it had more visits and samples than these need:
  // 200 visits, so that what is under way at its ends is half a percent, and 150 samples, so that a
  // line of two percent has one or more in most experiments. 100 ms are three times what lead-in,
  // drain and cooloff take.
  uint64_t min_experiment_ns = 500 * kNsPerMs;
  uint64_t shortest_experiment_ns = 100 * kNsPerMs;
  uint64_t visits_of_short_experiment = 200;
  uint64_t samples_of_short_experiment = 150;
  uint64_t max_experiment_ns = 8 * kNsPerSecond;

  // An experiment whose busiest progress point has fewer visits is extended to twice its length,
  // again and again up to the maximum. Later experiments keep that length. Only the busiest point
  // counts, so rarely visited points change nothing. Without any visit the program may be between
  // two phases: then only this experiment is extended. What is under way at an experiment's ends
  // is a part of its visits. With 10 instead of 5 visits predictions of slow programs in the
  // simulator have intervals two thirds as wide, and hold the truth as often.
  uint64_t min_visits = 10;

  // Bare intervals tell what sampling takes. There is one for so many experiments, at a random
  // place among them; 0: none. It lasts a quarter of an experiment, then on until the busiest point
  // has so many visits, but no longer than an experiment. Many short ones see the same drift as
  // baselines. They take some 3 % of the time.
  uint64_t experiments_per_bare_interval = 8;
  uint64_t bare_intervals_per_experiment_length = 4;
  uint64_t bare_interval_visits = 25;

  // A control is an experiment in which all threads are delayed and nothing is sped up. Its rate by
  // effective time must be that of baselines, else delays take another time than their own. There
  // is one for so many experiments, at a random place among them; 0: none. The first ones come
  // twice as often, since fewer than four tell nothing. Delays have this share of its time, as
  // those of a line that matters.
  uint64_t experiments_per_control = 8;
  uint64_t early_controls = 4;
  double delay_share_of_control = 0.4;

  // Delays begin so long before the measurement; baselines wait alike. Otherwise what threads
  // queued at the old speed would count as an effect of the speedup. Debts of the lead-in are paid
  // within a sampling period of the start. No more than a tenth of the experiment, except where
  // visits are few: then so many visits, as queues of some places take to fill or drain, but no
  // more than a quarter of the experiment.
  uint64_t lead_in_ns = 20 * kNsPerMs;
  uint64_t lead_in_visits = 20;

  // Between experiments, after the drain: 2 % of an experiment of half a second, and no more than
  // 5 % of a shorter one. In five to ten sampling periods, late threads have run and paid, and a
  // queue of some milliseconds has passed.
  uint64_t cooloff_ns = 10 * kNsPerMs;

  // Time between two looks at the experiment: with latency pairs (for the in-flight integral), and
  // without. Twenty looks or more tell whether threads outnumber CPUs.
  uint64_t latency_look_ns = 2 * kNsPerMs;
  uint64_t look_ns = 25 * kNsPerMs;
  uint64_t drain_look_ns = 200 * kNsPerUs;
  // The drain ends at the latest after two sampling periods, the largest debt, and a slack for
  // threads that wait for a CPU, and never after the limit. What is still owed is recorded, and
  // paid later.
  uint64_t drain_slack_ns = 5 * kNsPerMs;
  uint64_t drain_limit_ns = 100 * kNsPerMs;
  // Without a step for this time, the target adds no delay. A later step taints the experiment.
  uint64_t lease_ns = kNsPerSecond;

  absl::Status Check() const;
};

}  // namespace coz::experiment

#endif  // COZ_EXPERIMENT_OPTIONS_H_
