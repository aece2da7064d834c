// Profiles of several sessions as one, for tests of compact profiles.
//
// Shape    free functions
// Units    `most`: experiments that a compact profile keeps as they are
// Errors   what cannot be compacted fails the test
// Threads  as a test
// Signals  none
// Source   none
#ifndef COZ_REPORT_COMPACT_TESTING_PUT_TOGETHER_H_
#define COZ_REPORT_COMPACT_TESTING_PUT_TOGETHER_H_

#include <cstddef>
#include <vector>

#include "coz/report/format/profile.pb.h"

namespace coz::report {

profile::Profile Together(const std::vector<profile::Profile>& inputs);
profile::Profile Compacted(const std::vector<profile::Profile>& inputs, size_t most);

}  // namespace coz::report

#endif  // COZ_REPORT_COMPACT_TESTING_PUT_TOGETHER_H_
