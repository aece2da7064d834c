// Writes every figure of a profile as a table: a row for each progress point, unit and speedup.
//
// Shape    RFC 4180, UTF-8, a head line; the columns are described in docs/export.md. A unit that
//          was set aside has one row, with the reason and no figures
// Units    fractions; samples and visits are counts
// Errors   none; what could not be computed is empty
// Threads  safe
// Signals  not async-signal-safe
// Source   RFC 4180
#ifndef COZ_REPORT_EXCHANGE_EXPORT_CSV_H_
#define COZ_REPORT_EXCHANGE_EXPORT_CSV_H_

#include <ostream>

#include "coz/report/analysis/analyzed_profile.h"

namespace coz::report {

void ExportCsv(const AnalyzedProfile& whole, std::ostream& out);

}  // namespace coz::report

#endif  // COZ_REPORT_EXCHANGE_EXPORT_CSV_H_
