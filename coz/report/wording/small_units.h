// What a report says of the units that have no rows of their own, all together: of those that bring
// nothing by their samples alone, and of those that were not tried.
//
// Shape    sentences without a full stop; "" where there is nothing to say. UTF-8
// Units    percent of a visit's time, at kQuotedSpeedup as in the column of gains
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/interpreting.md
#ifndef COZ_REPORT_WORDING_SMALL_UNITS_H_
#define COZ_REPORT_WORDING_SMALL_UNITS_H_

#include <cstddef>
#include <string>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/wording/unit_names.h"

namespace coz::report {

// How many units are set aside as small.
size_t CountSmall(const PointAnalysis& point);

// Of those that are set aside as small: "No gain: 25 lines take so little CPU time that each, made
// 30 % faster, brings at most 1.9 %".
std::string SmallUnits(const PointAnalysis& point, const UnitNames& names);

// Where small units, those with experiments too, have most of the samples and no unit is worth it,
// larger units are to be looked at: "Together the lines without gain have 93 % of the samples; look
// at larger parts with `coz run --unit=function --- ./app`".
std::string Spread(const PointAnalysis& point, const profile::Profile& profile,
                   const UnitNames& names);

// Units without experiments that have too few samples for a row each, where these are many in all:
// "Not tried yet: 345 lines, each with less than 0.5 % of the samples, have 48 % together; look at
// larger parts with `coz run --unit=function --- ./app`".
std::string Untried(const PointAnalysis& point, const profile::Profile& profile,
                    const ExperimentTable& table, const UnitNames& names);

// Below a table that has such units: "at most 3 %, by its samples: the line takes too little CPU
// time to bring more, so it needs no experiments".
std::string SmallLegend(const std::string& unit_word);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_SMALL_UNITS_H_
