// How the threads of a profile spent their time, where units are waits: what the waits for the
// outside leave are waits for each other.
//
// Shape    sums over all threads of all sessions; a list of calls
// Units    ns
// Errors   no sums where they are not known: units are no waits, threads are left out by --thread
//          or put together, or a session has no end
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/units.md, "Waits"
#ifndef COZ_REPORT_ANALYSIS_WAIT_TIMES_H_
#define COZ_REPORT_ANALYSIS_WAIT_TIMES_H_

#include <cstdint>
#include <optional>
#include <vector>

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

// Waits at one call that are no units: another thread, a time-out or a signal has ended them.
struct OwnWaitRow {
  UnitRow call;  // as of a wait that is a unit; without samples
  uint64_t waited_ns = 0;
};

// Of each session the longest. Those of one call are one row; the longest comes first.
std::vector<OwnWaitRow> OwnWaits(const profile::Profile& profile);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_WAIT_TIMES_H_
