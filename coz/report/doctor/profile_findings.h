// Why a profile is poor: what keeps its lines from having figures, or figures from being sure, and
// what to do for a better one.
//
// Shape    findings, the most basic first; a good profile has one that says so
// Units    in the sentences
// Errors   none
// Threads  safe: a pure function
// Signals  not async-signal-safe
// Source   docs/doctor.md
#ifndef COZ_REPORT_DOCTOR_PROFILE_FINDINGS_H_
#define COZ_REPORT_DOCTOR_PROFILE_FINDINGS_H_

#include <string>
#include <vector>

#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/doctor/finding.h"

namespace coz::report {

// `path`: of the profile, for commands.
std::vector<Finding> FindingsOfProfile(const AnalyzedProfile& profile, const std::string& path);

}  // namespace coz::report

#endif  // COZ_REPORT_DOCTOR_PROFILE_FINDINGS_H_
