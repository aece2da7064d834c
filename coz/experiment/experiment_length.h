// How long the next experiment is: as short as the last ones allow, longer where visits are few.
//
// A program's speed wanders, and two experiments a second apart differ by more than the visits of
// either explain. Longer ones do not differ less: many short ones, each beside its baselines, tell
// more in the same time.
//
// Shape    begins at SchedulerOptions::min_experiment_ns. Learn() then sets the length between
//          shortest_experiment_ns and that; Grow() makes it longer for good
// Units    ns
// Errors   none
// Threads  compatible
// Signals  none
// Source   docs/design/experiments.md
#ifndef COZ_EXPERIMENT_EXPERIMENT_LENGTH_H_
#define COZ_EXPERIMENT_EXPERIMENT_LENGTH_H_

#include <cstdint>

#include "coz/experiment/options.h"
#include "coz/experiment/record.h"

namespace coz::experiment {

class ExperimentLength {
 public:
  explicit ExperimentLength(const SchedulerOptions& options);

  uint64_t ns() const { return ns_; }
  // The lead-in before the next experiment, and the cooloff behind it. Shorter experiments have
  // shorter ones, so that they do not take most of the time. Where visits are few the lead-in is
  // longer.
  uint64_t lead_in_ns() const;
  uint64_t cooloff_ns() const;
  // Time between two looks without latency pairs.
  uint64_t look_ns() const;

  // The length depends on experiments before it alone, so that it favours no outcome.
  void Learn(const ExperimentRecord& record);
  // Experiments of less than `ns` have too few visits.
  void Grow(uint64_t ns);

 private:
  uint64_t Wanted(const ExperimentRecord& record) const;

  const SchedulerOptions options_;
  uint64_t ns_;
  uint64_t visit_ns_ = 0;  // from one visit of the busiest point to the next; 0: unknown
  bool grown_ = false;
};

}  // namespace coz::experiment

#endif  // COZ_EXPERIMENT_EXPERIMENT_LENGTH_H_
