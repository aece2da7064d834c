// What the report says of a latency point beside its table.
//
// Shape    lines of text; "" where the profile does not tell
// Units    milliseconds
// Errors   none
// Threads  safe
// Signals  not async-signal-safe
// Source   docs/progress-points.md
#ifndef COZ_REPORT_TEXT_LATENCY_TEXT_H_
#define COZ_REPORT_TEXT_LATENCY_TEXT_H_

#include <cstddef>
#include <string>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/wording/unit_names.h"

namespace coz::report {

// Throughput and latency as they are, and the percentiles at the best prediction of each of the
// first `shown` lines.
std::string LatencyText(const ExperimentTable& table, const PointAnalysis& point,
                        const UnitNames& names, size_t shown);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_LATENCY_TEXT_H_
