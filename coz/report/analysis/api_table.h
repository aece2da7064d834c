// Calls into libraries of a profile, by function and caller.
//
// Shape    rows, those with the most time first, and without times those with the most calls; each
//          by names of threads. Sessions are added up
// Units    calls; ns of wall and CPU time
// Errors   none: a profile without such calls has no rows
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/libraries.md
#ifndef COZ_REPORT_ANALYSIS_API_TABLE_H_
#define COZ_REPORT_ANALYSIS_API_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "coz/report/analysis/thread_table.h"
#include "coz/report/format/profile.pb.h"

namespace coz::report {

// What threads of one name have called.
struct ApiThread {
  std::string name;
  uint64_t calls = 0;
  CallTimes times;  // of calls whose end was seen
};

struct ApiRow {
  std::string function;  // "libz.so.1!deflate"
  std::string caller;    // file name of the object
  uint64_t calls = 0;
  CallTimes times;
  std::vector<ApiThread> threads;
  CounterTiming timing = {};
};

struct ApiTable {
  std::vector<ApiRow> rows;
  uint64_t run_ns = 0;  // of all sessions
};

ApiTable BuildApiTable(const profile::Profile& profile);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_API_TABLE_H_
