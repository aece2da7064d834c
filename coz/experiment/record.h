// What one experiment measured, with all that is needed to judge its validity later.
//
// Shape    plain data; points indexed by progress point id as in TargetSnapshot
// Units    ns of the target's clock; counts; speedups as fractions
// Errors   nothing is dropped in silence: what speaks against an experiment is listed in `taints`
// Threads  compatible
// Signals  none
// Source   docs/design/experiments.md
#ifndef COZ_EXPERIMENT_RECORD_H_
#define COZ_EXPERIMENT_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coz/base/target_counters.h"
#include "coz/experiment/target.h"

namespace coz::experiment {

enum class TaintKind {
  kOversubscribed,  // more runnable threads than CPUs: a paused thread frees its CPU for the others
  kDelayOwed,       // a thread still owed much when the experiment ended
  kSamplesLost,     // delays are missing in proportion
  kUnitInactive,    // a speedup above 0, and no sample in the unit
  kTooFewVisits,    // fewer than required, at every progress point
  kTargetEnded,     // the target ended, or was ending, during the experiment
  kInterrupted,     // stopped by a signal or a debugger, or the machine was suspended
  kCpuQuota,        // a CPU quota stopped the target for too large a part
  kSupervisorLate,  // the scheduler was not stepped in time, and delays stopped at the deadline
};

// A short stable name, such as "oversubscribed", for files and tests.
std::string_view TaintName(TaintKind kind);

// Whether the experiment's figures are wrong, and not only less certain. Such experiments are not
// pooled.
bool Invalidates(TaintKind kind);

struct Taint {
  TaintKind kind;
  std::string reason;  // a sentence with the figures
};

// Changes during one experiment.
struct PointDelta {
  uint64_t visits = 0;
  uint64_t arrivals = 0;
  uint64_t departures = 0;
  // Integral of (arrivals - departures) over effective time, for Little's law. Divided by
  // `departures` it is the mean latency; divided by the effective duration, the mean number in
  // flight. 0 for a throughput point.
  double in_flight_ns = 0;
  bool in_flight_by_times = false;  // exact, from the time of each visit; else from looks
  // From looks: the number under way during inserted delay is assumed to be the average.
  bool in_flight_evened_out = false;
};

// The base holds what the target counted of itself during the experiment.
struct ExperimentRecord : ExperimentCounters {
  uint64_t index = 0;  // 0 for the first of the run
  UnitId unit = 0;
  double virtual_speedup = 0;           // nominal: delay per sample / sampling period
  double achieved_virtual_speedup = 0;  // by what samples imposed, and threads served of it
  uint64_t delay_per_sample_ns = 0;

  uint64_t start_ns = 0;
  uint64_t elapsed_ns = 0;  // drain included
  uint64_t drain_ns = 0;    // from the last delay to the reading of the counters
  uint64_t inserted_delay_ns = 0;
  // elapsed - inserted. Near 0, or a little below, when the whole program was sped up by 100 %.
  int64_t effective_duration_ns = 0;
  uint64_t selected_after_ns =
      0;  // end to end: from the start of the run to the choice of the unit

  std::vector<PointDelta> points;
  uint64_t selected_samples = 0;
  uint64_t total_samples = 0;

  bool settled = false;  // no running thread owed a delay when the counters were read
  uint64_t owed_at_start_ns = 0;
  uint64_t owed_at_end_ns = 0;
  uint64_t max_owed_at_end_ns = 0;
  uint64_t max_owed_asleep_at_end_ns = 0;
  uint64_t paid_ns = 0;
  uint64_t credited_ns = 0;
  uint64_t excess_ns = 0;
  uint64_t pause_cpu_ns = 0;
  uint64_t imposed_ns = 0;  // by samples in the selected unit; some of it cancels

  double periods_per_sample = 1;  // at the end; what a sample counts for in numbers of samples
  double mean_live_threads = 0;
  double mean_runnable_threads = 0;
  double mean_threads_beside = 0;
  double oversubscribed_share = 0;  // share of looks that saw more runnable threads than CPUs
  int cpus = 0;
  QuotaUse quota;
  CpuUse cpu_use;
  BesideUse beside;
  int most_realtime_threads = 0;  // at any look

  std::vector<Taint> taints;
};

// Whether none of the taints invalidates the record.
bool IsValid(const ExperimentRecord& record);

class ExperimentSink {
 public:
  virtual ~ExperimentSink() = default;
  virtual void OnExperimentStarted(UnitId unit, double virtual_speedup, uint64_t start_ns) = 0;
  virtual void OnExperiment(const ExperimentRecord& record) = 0;
  // The experiment in progress was given up, as too short to keep.
  virtual void OnExperimentDropped() = 0;
  // A bare interval begins, and has been measured. Its record's `unit` and speedups mean nothing.
  // One that is given up calls OnExperimentDropped.
  virtual void OnBareIntervalStarted(uint64_t /*start_ns*/) {}
  virtual void OnBareInterval(const ExperimentRecord& /*record*/) {}
  // A control begins, and has been measured (SchedulerOptions::experiments_per_control). Its
  // record's `unit` and speedups mean nothing. One that is given up calls OnExperimentDropped.
  virtual void OnControlStarted(uint64_t /*start_ns*/) {}
  virtual void OnControl(const ExperimentRecord& /*record*/) {}
  // Called once when no progress point has been visited for SchedulerOptions::progress_warning_ns.
  // The wait goes on.
  virtual void OnNoProgress(uint64_t waited_ns) = 0;
};

}  // namespace coz::experiment

#endif  // COZ_EXPERIMENT_RECORD_H_
