// Gates for tests that need something of the machine: they say what is required and what is there.
//
// Shape    a check returns an empty text when the capability is there, else "required …, actual …"
// Units    none
// Errors   with COZ_REQUIRE_CAPABILITIES=1 in the environment a missing capability fails the test,
//          otherwise the test is skipped
// Threads  safe
// Signals  none
// Source   perf_event_open(2)
#ifndef COZ_TESTING_CAPABILITIES_H_
#define COZ_TESTING_CAPABILITIES_H_

#include <string>

namespace coz::testing {

// Perf events of the software task clock for this process's own threads.
std::string MissingPerfEvents();

// The same with time in the kernel.
std::string MissingKernelPerfEvents();

bool MissingCapabilityIsFailure();

}  // namespace coz::testing

// In a test body, from gtest: leaves the test unless `check` returns an empty text.
#define COZ_REQUIRE_CAPABILITY(check)                                                       \
  do {                                                                                      \
    const std::string& coz_missing_capability = (check);                                    \
    if (coz_missing_capability.empty()) break;                                              \
    if (coz::testing::MissingCapabilityIsFailure()) GTEST_FAIL() << coz_missing_capability; \
    GTEST_SKIP() << coz_missing_capability;                                                 \
  } while (false)

#endif  // COZ_TESTING_CAPABILITIES_H_
