// Text reports of profiles, and the profiles that tests of several outputs share.
//
// Shape    FourLines and HardlyTried are profiles of one session; ReportOf is a report of one
// Units    a width in columns of a terminal
// Errors   a report that fails, or has a note that is too long, fails the test
// Threads  compatible
// Signals  not async-signal-safe
// Source   docs/interpreting.md
#ifndef COZ_REPORT_TESTING_REPORTS_H_
#define COZ_REPORT_TESTING_REPORTS_H_

#include <string>

#include "coz/report/format/profile.pb.h"

namespace coz::report_testing {

// The path of a file with `profile`, in the test's own folder. The next call replaces it.
std::string Save(const profile::Profile& profile);

// In UTC.
std::string ReportOf(const profile::Profile& profile, int width = 100);

// One line brings much, one hurts, one brings nothing, and one has too few samples.
profile::Profile FourLines();

// One line that is tried, a larger one that is not, and many small ones.
profile::Profile HardlyTried();

}  // namespace coz::report_testing

#endif  // COZ_REPORT_TESTING_REPORTS_H_
