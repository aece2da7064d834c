// What of the program the profile lacks, as coz had no place for it or could not follow it.
//
// Shape    a sentence, without a full stop, for each kind that matters; summed over sessions
// Units    counts; share of samples
// Errors   none
// Threads  compatible
// Signals  not async-signal-safe
// Source   coz/base/target_counters.h, which counts it
#ifndef COZ_REPORT_WORDING_MISSED_PARTS_H_
#define COZ_REPORT_WORDING_MISSED_PARTS_H_

#include <string>
#include <vector>

#include "coz/report/format/profile.pb.h"

namespace coz::report {

// Looks at the ends of sessions alone.
std::vector<std::string> NotesOfMissedParts(const profile::Profile& profile);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_MISSED_PARTS_H_
