// How the threads of a profile spent their time, where units are waits: what the waits for the
// outside leave are waits for each other.
//
// Shape    sums over all threads of all sessions
// Units    ns
// Errors   nothing where it is not known: units are no waits, threads are left out by --thread or
//          put together, or a session has no end
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/units.md, "Waits"
#ifndef COZ_REPORT_ANALYSIS_WAIT_TIMES_H_
#define COZ_REPORT_ANALYSIS_WAIT_TIMES_H_

#include <optional>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

struct WaitTimes {
  double lived_ns = 0;    // from the starts of threads to their ends
  double cpu_ns = 0;      // of it: they ran
  double outside_ns = 0;  // and they were in waits that are units

  // The rest: waits for each other, queues for CPUs, and pauses.
  double OthersNs() const;
};

std::optional<WaitTimes> SumWaitTimes(const profile::Profile& profile,
                                      const ExperimentTable& table);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_WAIT_TIMES_H_
