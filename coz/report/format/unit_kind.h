// Kinds of units by name, as behind --unit, and as a stable key of reports.
//
// Shape    a word; "unknown" for a kind of a later version
// Units    none
// Errors   none
// Threads  safe: pure function
// Signals  async-signal-safe
// Source   profile.proto, UnitKind
#ifndef COZ_REPORT_FORMAT_UNIT_KIND_H_
#define COZ_REPORT_FORMAT_UNIT_KIND_H_

#include "coz/report/format/profile.pb.h"

namespace coz::report {

const char* UnitKindId(profile::UnitKind kind);

}  // namespace coz::report

#endif  // COZ_REPORT_FORMAT_UNIT_KIND_H_
