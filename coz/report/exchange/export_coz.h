// Writes a profile in the formats of the original coz, so that its viewer and the tools around it
// go on working.
//
// Shape    one record per line. JSON lines: {"type": "startup", "time"}, then for each experiment
//          {"type": "experiment", "selected", "speedup", "duration", "selected_samples"} and its
//          {"type": "throughput-point", "name", "delta"} and {"type": "latency-point", "name",
//          "arrivals", "departures", "difference"}, then {"type": "runtime", "time"} and {"type":
//          "samples", "location", "count"}. Text: the same as tab separated key=value. Debian's
//          viewer (0.2.2) reads both
// Units    ns; startup time is wall-clock, the rest monotonic; speedup 0-1; duration is effective
//          duration
// Errors   none; strings that are no UTF-8 get replacement characters
// Threads  safe
// Signals  not async-signal-safe
// Source   the viewer of Debian's coz-profiler package, js/profile.js; records as observed in
//          profiles of it
//
// Left out: experiments with a taint, and progress points that can give the viewer no figure (no
// visits).
#ifndef COZ_REPORT_EXCHANGE_EXPORT_COZ_H_
#define COZ_REPORT_EXCHANGE_EXPORT_COZ_H_

#include <ostream>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

enum class CozFormat { kJsonLines, kText };

void ExportCoz(const profile::Profile& profile, const ExperimentTable& table, CozFormat format,
               std::ostream& out);

}  // namespace coz::report

#endif  // COZ_REPORT_EXCHANGE_EXPORT_COZ_H_
