// A profile with any number of lines of all shapes, two progress points and two phases, for tests
// and measurements of the HTML report.
//
// Shape    lines of a small made-up server; line i of every six: straight gain, plateau, no effect,
//          contention, turn, weak gain. In the first third of the run every fifth line does not run
// Units    none
// Errors   none
// Threads  safe
// Signals  none
// Source   coz/report/testing/synthetic_profile.h
#ifndef COZ_REPORT_PLOT_TESTING_SAMPLE_PROFILE_H_
#define COZ_REPORT_PLOT_TESTING_SAMPLE_PROFILE_H_

#include "coz/report/format/profile.pb.h"

namespace coz::report_testing {

profile::Profile SampleProfile(int lines);

}  // namespace coz::report_testing

#endif  // COZ_REPORT_PLOT_TESTING_SAMPLE_PROFILE_H_
