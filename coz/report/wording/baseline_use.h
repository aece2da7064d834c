// What the program and its machine do by themselves: sums over the baselines, which insert no
// delay.
//
// Shape    plain data
// Units    ns of CPU time or of the clock; counts
// Errors   none; a profile without baselines has zeros
// Threads  compatible
// Signals  not async-signal-safe
// Source   profile.proto
#ifndef COZ_REPORT_WORDING_BASELINE_USE_H_
#define COZ_REPORT_WORDING_BASELINE_USE_H_

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

struct BaselineUse {
  double elapsed_ns = 0;
  double running_ns = 0;    // CPU time, of all threads of the program
  double unsampled_ns = 0;  // part of it
  uint32_t baselines = 0;
  uint32_t with_busy_cpus = 0;
  uint32_t with_waits = 0;  // whose units are waits

  double quota_throttled_ns = 0;
  // Of the CPUs that the program may use; 0 in older profiles.
  double busy_ns = 0;  // by whatever program
  double idle_ns = 0;
  double stolen_ns = 0;
  double left_ns = 0;       // of elapsed_ns, the share that ExperimentRow::share_left is
  double throttled_ns = 0;  // the same with share_throttled

  // CPU time that other programs used, as a share of what these CPUs can give.
  double OthersShare() const;
  double IdleShare() const;
  double StolenShare() const;
  // Means of ExperimentRow::share_left and share_throttled.
  double LeftShare() const;
  double ThrottledShare() const;
};

BaselineUse SumBaselines(const profile::Profile& profile, const ExperimentTable& table);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_BASELINE_USE_H_
