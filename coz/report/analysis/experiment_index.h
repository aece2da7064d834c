// What the analysis of every progress point looks up, so that no line has to look at every
// experiment: who was selected when, and what baselines say of each unit's share of the samples.
//
// Shape    rows of ExperimentTable::experiments by unit, sums over baselines; tainted experiments
//          are left out
// Units    shares are fractions
// Errors   none: a share or a limit that cannot be known is 0 or infinite
// Threads  compatible
// Signals  not async-signal-safe
// Source   docs/design/statistics.md, "Small lines"
#ifndef COZ_REPORT_ANALYSIS_EXPERIMENT_INDEX_H_
#define COZ_REPORT_ANALYSIS_EXPERIMENT_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "coz/report/analysis/coarse_samples.h"
#include "coz/report/analysis/experiment_table.h"

namespace coz::report {

// A unit's share of samples pooled over experiments, and its error from their variation.
struct SampleShare {
  double value = 0;
  double error = 0;  // standard error, relative to value

  static SampleShare Of(const ExperimentTable& table, const std::vector<size_t>& rows, size_t unit);
};

class ExperimentIndex {
 public:
  struct BaselineSamples {
    uint32_t row;
    uint32_t samples;  // ExperimentTable holds no more
  };

  // `kernel_sampled`: the ids of sessions in which CPU time in the kernel has samples, too.
  ExperimentIndex(const ExperimentTable& table, const CoarseSamples& coarse,
                  const std::set<uint64_t>& kernel_sampled);

  // Rows by selected unit, ascending.
  const std::map<size_t, std::vector<size_t>>& Selected() const { return selected_; }
  // In which the unit was active.
  const std::vector<BaselineSamples>& BaselinesWith(size_t unit) const { return baselines_[unit]; }
  SampleShare ShareInBaselines(size_t unit) const;
  // The most that a rate gains where the unit takes no time any more, as a fraction of the time of
  // a visit: its CPU time by the clock. Infinite where too few baselines tell.
  double GainLimit(size_t unit) const;

 private:
  // Sums over all baselines, for a unit's share in all of them.
  struct UnitSums {
    double own = 0;
    double own_squared = 0;
    double own_times_all = 0;
  };

  void Add(const ExperimentRow& row, size_t i);

  std::map<size_t, std::vector<size_t>> selected_;
  std::vector<std::vector<BaselineSamples>> baselines_;  // by unit
  std::vector<UnitSums> sums_;                           // by unit
  std::vector<bool> is_wait_;                            // by unit
  // Over all baselines, whether or not the unit was active: rows, experiments of which these are
  // sums, those with samples too coarse for the program's waits, samples of all units, and threads
  // at a time times these samples.
  double rows_ = 0;
  double made_ = 0;
  double coarse_ = 0;
  double all_ = 0;
  double all_squared_ = 0;
  double running_times_all_ = 0;
  double unseen_ = 0;  // periods of CPU time in the kernel, which had no samples
  bool cpus_are_known_ = true;
};

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_EXPERIMENT_INDEX_H_
