// What the report says of lines without figures of their own: of those that need none, and what the
// others lack, and what to do.
//
// Shape    lines of text
// Units    columns of a terminal
// Errors   none
// Threads  safe
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_REPORT_TEXT_SET_ASIDE_TEXT_H_
#define COZ_REPORT_TEXT_SET_ASIDE_TEXT_H_

#include <cstdint>
#include <string>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/text/report_text.h"
#include "coz/report/wording/unit_names.h"

namespace coz::report {

// "" where there are no such lines. An experiment with fewer than `min_visits` visits does not
// count.
std::string SetAsideText(const PointAnalysis& point, const profile::Profile& profile,
                         const ExperimentTable& table, const UnitNames& names, uint64_t min_visits,
                         const TextOptions& options);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_SET_ASIDE_TEXT_H_
