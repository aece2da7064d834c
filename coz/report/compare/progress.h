// How fast a program makes progress without any speedup, and how much CPU time a line takes for it.
//
// Shape    pure functions of a profile's baselines (virtual speedup 0, not tainted)
// Units    ns per visit; for latency points the time that one request is in flight
// Errors   nullopt where there are fewer than two usable baselines
// Threads  safe
// Signals  not async-signal-safe
// Source   ratio estimator: Cochran, Sampling Techniques, chapter 6
#ifndef COZ_REPORT_COMPARE_PROGRESS_H_
#define COZ_REPORT_COMPARE_PROGRESS_H_

#include <cstddef>
#include <optional>

#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/statistics/statistics.h"

namespace coz::report {

// Effective duration ÷ visits, pooled, with its 95 % interval. `point` is an index of
// ExperimentTable.points.
std::optional<Estimate> TimePerVisit(const AnalyzedProfile& whole, size_t point);

// CPU time of a unit ÷ visits; `unit` is an index of ExperimentTable.units.
std::optional<Estimate> CpuTimePerVisit(const AnalyzedProfile& whole, size_t point, size_t unit);

// 1 - after/before: positive where it became faster.
Estimate Gain(const Estimate& before, const Estimate& after);

}  // namespace coz::report

#endif  // COZ_REPORT_COMPARE_PROGRESS_H_
