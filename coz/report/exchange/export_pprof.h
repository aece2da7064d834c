// Writes a profile for `go tool pprof` and other readers of its format.
//
// Shape    one gzip'ed message; a sample for each unit, with one location; sample types: samples,
//          cpu, and for each progress point slope:NAME. Labels verdict:NAME say what the report
//          says
// Units    cpu in ns; slopes in permille: 400 means that making the line 10 % faster makes the
//          program 4 % faster. A slope that cannot be told yet is 0
// Errors   INTERNAL when zlib refuses
// Threads  safe
// Signals  not async-signal-safe
// Source   coz/report/exchange/pprof.proto; docs/export.md
#ifndef COZ_REPORT_EXCHANGE_EXPORT_PPROF_H_
#define COZ_REPORT_EXCHANGE_EXPORT_PPROF_H_

#include <ostream>

#include "absl/status/status.h"
#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/exchange/pprof.pb.h"

namespace coz::report {

pprof::Profile PprofOf(const AnalyzedProfile& whole);

absl::Status ExportPprof(const AnalyzedProfile& whole, std::ostream& out);

}  // namespace coz::report

#endif  // COZ_REPORT_EXCHANGE_EXPORT_PPROF_H_
