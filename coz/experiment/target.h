// The seam between the scheduler and what it experiments on: a program, a fake, or the simulator.
//
// Shape    one interface; a snapshot of cumulative counters, points indexed by progress point id
// Units    ns of one monotonic clock of the implementer's choice; counts; delays as in coz/sync
// Errors   none: a target that has ended answers with its last counters and the time of its end
// Threads  compatible: every call comes from the thread that steps the scheduler
// Signals  none
// Source   docs/design/experiments.md; Curtsinger and Berger, SOSP 2015, section 3.4
#ifndef COZ_EXPERIMENT_TARGET_H_
#define COZ_EXPERIMENT_TARGET_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "coz/base/random.h"
#include "coz/base/target_counters.h"

namespace coz::experiment {

// Names what an experiment speeds up. Only the implementer of ExperimentTarget gives it a meaning.
using UnitId = uint32_t;

// Cumulative since the target's start. A throughput point counts visits, a latency pair the other
// two.
struct PointCounts {
  uint64_t visits = 0;
  uint64_t arrivals = 0;
  uint64_t departures = 0;
  // How many of these came at a known time, and the sums of those times, modulo 2^64. Their clock
  // stands still while a thread serves delay.
  uint64_t timed_arrivals = 0;
  uint64_t timed_departures = 0;
  uint64_t arrival_time_sum_ns = 0;
  uint64_t departure_time_sum_ns = 0;
  // For a pair whose visits have no times: delay imposed while the number under way was known, and
  // the sum of each delay times that number.
  uint64_t charged_delay_ns = 0;
  uint64_t charged_in_flight_ns = 0;  // modulo 2^64; below 0 where `begun_before` is missing in it
  // Requests that end without a begin that counts, as they were under way before. As far as it is
  // known: unlike the others this may fall.
  uint64_t begun_before = 0;
};

// What the CPUs did that the target may use, summed over them. Cumulative, to a clock tick or more.
struct CpuUse {
  uint64_t busy_ns = 0;    // by any program but the profiler, interrupts left out
  uint64_t idle_ns = 0;    // waits for disks included
  uint64_t stolen_ns = 0;  // the host of a virtual machine ran something else
};

// What other programs that hardly wait take from the target. Cumulative, to a fifth of a second.
// Grows only while there are such programs.
struct BesideUse {
  uint64_t cpu_ns = 0;     // of these programs, on the target's CPUs
  uint64_t busy_ns = 0;    // meanwhile, those CPUs, for whatever program but the profiler
  uint64_t ran_ns = 0;     // meanwhile, threads of the target
  uint64_t queued_ns = 0;  // the same threads, for a CPU
  // Of queued_ns, what other programs must have caused: while the target had a CPU for each of its
  // threads that ran, and these ran for long at a time.
  uint64_t queued_for_others_ns = 0;
};

// Of a CPU quota (cpu.max). Cumulative; all 0 where there is none.
struct QuotaUse {
  // For which quotas stopped threads that wanted to run, summed over CPUs: this one, and others.
  uint64_t throttled_ns = 0;
  uint64_t throttled_elsewhere_ns = 0;
  // Of the quota's periods in which somebody wanted to run: all, and those in which it was used up.
  uint64_t periods = 0;
  uint64_t throttled_periods = 0;
  uint64_t used_ns = 0;     // CPU time, by all for whom the quota is; 0: unknown
  uint64_t allowed_ns = 0;  // the time that has passed, times the CPUs that the quota allows
};

// Every counter is cumulative and never falls, unless said otherwise. The base holds what the
// target counts of itself.
struct TargetSnapshot : ExperimentCounters {
  uint64_t now_ns = 0;
  uint64_t global_delay_ns = 0;  // required of every thread since the target's start
  uint64_t selected_samples =
      0;  // samples in the selected unit while it was selected, baselines too
  // Where waits are units: how long waits in the selected one were, which is exact.
  uint64_t selected_wait_ns = 0;
  uint64_t total_samples = 0;
  double periods_per_sample = 1;      // now: samples of CPU timers count for several each
  uint64_t out_of_scope_samples = 0;  // in known code that holds no unit
  uint64_t owed_ns = 0;               // now: global minus local delay, summed over running threads
  uint64_t max_owed_ns = 0;           // now: the largest of these
  // Now: the largest debt of threads asleep by the clock that have run since the last Select. They
  // pay when they wake.
  uint64_t max_owed_asleep_ns = 0;
  uint64_t imposed_ns = 0;     // by samples in selected units, over all threads
  uint64_t paid_ns = 0;        // slept in pauses, over all threads
  uint64_t credited_ns = 0;    // credited, over all threads
  uint64_t excess_ns = 0;      // slept longer than asked, over all threads; part of paid_ns
  uint64_t pause_cpu_ns = 0;   // CPU time of pauses, over all threads
  uint64_t interruptions = 0;  // times the target was stopped, or the machine suspended
  int live_threads = 0;        // now
  int runnable_threads = 0;    // now: on a CPU or waiting for one
  int threads_beside = 0;      // now: of other programs, on these CPUs or waiting for one
  int cpus = 1;                // now: that the target may run on
  QuotaUse quota;
  CpuUse cpu_use;
  BesideUse beside;
  int realtime_threads = 0;         // now: with a real-time priority
  std::vector<PointCounts> points;  // may grow, never shrinks
};

class ExperimentTarget {
 public:
  virtual ~ExperimentTarget() = default;

  virtual uint64_t NowNs() = 0;

  // From now on each sample in `unit` is counted and makes every other thread owe
  // `delay_per_sample_ns` (0: a baseline). A sample at or after `deadline_ns` adds no delay, so
  // that a target whose supervisor died runs free.
  virtual void Select(UnitId unit, uint64_t delay_per_sample_ns, uint64_t deadline_ns) = 0;

  // Moves the deadline of the last Select.
  virtual void Extend(uint64_t deadline_ns) = 0;

  // From now on no sample adds a delay or counts as selected.
  virtual void StopDelays() = 0;

  // Begins a control: from now on each sample, in a unit or not, makes every thread owe
  // `delay_per_sample_ns`, its own too. So nothing is sped up. Until StopDelays or Select. False:
  // it cannot, and nothing has changed; do not ask again.
  virtual bool DelayAll(uint64_t /*delay_per_sample_ns*/, uint64_t /*deadline_ns*/) {
    return false;
  }

  // Stops all sampling until ResumeSampling. False: it cannot, and nothing has changed; do not ask
  // again.
  virtual bool SuspendSampling() { return false; }
  virtual void ResumeSampling() {}

  virtual TargetSnapshot Read() = 0;

  // Whether no running thread owes a delay. Threads that wait do not count: they pay or are
  // credited when they wake.
  virtual bool Settled() = 0;

  // The unit of a random sample in scope since the last call, each with equal probability (a
  // bounded share of them will do), or nothing when there was none. All randomness comes from
  // `random`.
  virtual std::optional<UnitId> RandomSampledUnit(Random& random) = 0;
};

}  // namespace coz::experiment

#endif  // COZ_EXPERIMENT_TARGET_H_
