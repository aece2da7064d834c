// What the threads of a profile have done, one by one and by name.
//
// Shape    groups of threads of one name, those with the most samples first; counters, those with
//          the most visits first. Sessions are added up
// Units    ns since session start; ns of CPU time; sampling periods; visits
// Errors   none: a profile without threads has an empty table
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/threads.md
#ifndef COZ_REPORT_ANALYSIS_THREAD_TABLE_H_
#define COZ_REPORT_ANALYSIS_THREAD_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coz/report/format/profile.pb.h"

namespace coz::report {

// Of the calls of a timed function whose end was seen.
struct CallTimes {
  uint64_t calls = 0;
  uint64_t wall_ns = 0;
  uint64_t cpu_ns = 0;
};

struct ThreadRow {
  std::string name;
  size_t session = 0;    // its number; of a group, the first one's
  int32_t pid = 0;       // 0: of several
  int32_t tid = 0;       // 0: of several
  uint64_t threads = 0;  // how many it stands for
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;  // of the last; 0: one runs on
  uint64_t samples = 0;
  uint64_t samples_in_scope = 0;
  uint64_t cpu_ns = 0;
  bool left_out = false;         // by --thread
  std::vector<uint64_t> visits;  // by counter
  std::vector<CallTimes> times;  // by counter
};

struct ThreadGroup {
  ThreadRow sum;
  std::vector<ThreadRow> threads;
};

struct CounterTiming {
  bool is_timed = false;
  bool ends_in_jump = false;  // to another function, whose time is not in its own
};

struct ThreadTable {
  std::vector<std::string> counters;  // that were visited at all
  std::vector<CounterTiming> timing;  // by counter
  std::vector<ThreadGroup> groups;
  ThreadRow total;
};

ThreadTable BuildThreadTable(const profile::Profile& profile);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_THREAD_TABLE_H_
