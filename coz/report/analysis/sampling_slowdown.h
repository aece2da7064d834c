// What being sampled costs the program at a progress point.
//
// Shape    one figure for a point, from its baselines and the bare intervals between experiments
//          (profile.proto)
// Units    shares of the time of a visit
// Errors   nullopt where the profile has too few bare intervals in which the point was visited
// Threads  safe: a pure function
// Signals  not async-signal-safe
// Source   docs/design/experiments.md
#ifndef COZ_REPORT_ANALYSIS_SAMPLING_SLOWDOWN_H_
#define COZ_REPORT_ANALYSIS_SAMPLING_SLOWDOWN_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/statistics/statistics.h"

namespace coz::report {

struct SamplingSlowdown {
  Estimate share;  // of the time of a sampled visit, what sampling adds; at most 1
  int stretches = 0;
};

// A bare interval or baseline with fewer than `min_visits` visits is not used.
std::optional<SamplingSlowdown> EstimateSamplingSlowdown(const ExperimentTable& table, size_t point,
                                                         uint64_t min_visits);

// The lower bound of that share in one session, at the point where it is largest; 0 where it is not
// known.
double LeastSlowdownBySampling(const profile::Profile& profile, uint64_t session);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_SAMPLING_SLOWDOWN_H_
