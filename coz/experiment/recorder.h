// Turns the snapshots of one experiment into its record: differences, integrals, speedup, taints.
//
// Shape    one recorder for one experiment: made at its start, fed with looks, finished once
// Units    ns of the target's clock
// Errors   none; what speaks against the experiment becomes a taint
// Threads  compatible
// Signals  none
// Source   docs/design/experiments.md; Little, "A proof for the queuing formula L = λW", 1961
#ifndef COZ_EXPERIMENT_RECORDER_H_
#define COZ_EXPERIMENT_RECORDER_H_

#include <cstdint>
#include <vector>

#include "coz/experiment/options.h"
#include "coz/experiment/record.h"
#include "coz/experiment/target.h"

namespace coz::experiment {

struct ExperimentPlan {
  uint64_t index = 0;
  UnitId unit = 0;
  double virtual_speedup = 0;
  uint64_t delay_per_sample_ns = 0;
  uint64_t selected_after_ns = 0;
};

class ExperimentRecorder {
 public:
  ExperimentRecorder(const ExperimentPlan& plan, const TargetSnapshot& start);

  // Snapshots in the order of time. Finish adds the last one itself.
  void Look(const TargetSnapshot& now);

  // Delays had stopped for `late_ns` before the scheduler was stepped.
  void NoteLate(uint64_t late_ns);
  void NoteTargetEnded() { target_ended_ = true; }

  // `drain_start_ns` is when delays ended.
  ExperimentRecord Finish(const SchedulerOptions& options, const TargetSnapshot& end,
                          uint64_t drain_start_ns, bool settled);

  uint64_t start_ns() const { return start_.now_ns; }
  // The most visits of any point since the start.
  uint64_t BusiestVisits(const TargetSnapshot& now) const;
  int64_t EffectiveNs(const TargetSnapshot& now) const;
  bool HasLatencyPairs(const TargetSnapshot& now) const;

 private:
  void AddTaints(const SchedulerOptions& options, const TargetSnapshot& end,
                 ExperimentRecord* record) const;

  ExperimentPlan plan_;
  const TargetSnapshot start_;
  TargetSnapshot last_;
  double InFlightByLooks(const TargetSnapshot& end, size_t point) const;

  // By looks, for each point: the number under way over effective time, and over clock time.
  std::vector<double> in_flight_ns_;
  std::vector<double> in_flight_on_clock_ns_;
  uint64_t looks_ = 0;
  uint64_t oversubscribed_looks_ = 0;
  uint64_t live_thread_sum_ = 0;
  uint64_t runnable_thread_sum_ = 0;
  uint64_t thread_beside_sum_ = 0;
  int most_realtime_threads_ = 0;
  uint64_t late_ns_ = 0;
  bool target_ended_ = false;
};

}  // namespace coz::experiment

#endif  // COZ_EXPERIMENT_RECORDER_H_
