// Adds records of a profile to records that hold the sums of several.
//
// Shape    see each function; the sum may be empty
// Units    as profile.proto
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   profile.proto: Experiment.pooled
#ifndef COZ_REPORT_COMPACT_POOLED_SUMS_H_
#define COZ_REPORT_COMPACT_POOLED_SUMS_H_

#include <map>

#include "coz/report/format/profile.pb.h"

namespace coz::report {

// Experiments of one unit, speedup and block. All of `one` but session, index, unit, speedup,
// points and samples of units, which stay as they are in `sum`.
void AddFigures(const profile::Experiment& one, profile::Experiment* sum);
void AddCounts(const profile::PointCounts& one, double time_ns, profile::PointCounts* sum);
// The same of bare intervals, whose taints are alike.
void AddFigures(const profile::BareInterval& one, profile::BareInterval* sum);
// Counts outside experiments, without those of units and points.
void AddTotals(const profile::SampleCounts& one, profile::SampleCounts* sum);
// Totals of sessions.
void AddEnd(const profile::SessionEnd& one, profile::SessionEnd* sum);

}  // namespace coz::report

#endif  // COZ_REPORT_COMPACT_POOLED_SUMS_H_
