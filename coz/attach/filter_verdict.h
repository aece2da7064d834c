// Whether coz may call a library in a process that has filters of system calls (seccomp).
//
// Shape    facts in, a status out
// Units    none
// Errors   FAILED_PRECONDITION says which filters are in the way, and what to do
// Threads  safe
// Signals  not async-signal-safe
// Source   seccomp(2)
#ifndef COZ_ATTACH_FILTER_VERDICT_H_
#define COZ_ATTACH_FILTER_VERDICT_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/attach/call_filter.h"

namespace coz::attach {

// In place of a number of filters: the strict mode, in which nearly each call ends the thread.
inline constexpr int64_t kStrictMode = -1;

struct FilterFacts {
  pid_t pid = 0;
  pid_t stopped = 0;                // its thread that is to make the calls
  std::map<pid_t, int64_t> counts;  // of filters, by thread; or kStrictMode
  bool has_only_filters_of_container = false;
  // Those of the stopped thread; empty: it has none, or those that it has do not matter.
  absl::StatusOr<std::vector<CallFilter>> filters = std::vector<CallFilter>();
};

// Of one thread. 0 where it has ended.
int64_t CountFiltersOf(pid_t pid, pid_t tid);
// Of the threads that are there.
std::map<pid_t, int64_t> CountFilters(pid_t pid);

// OK: it may. A library stays in the process, so the filters of all threads matter.
absl::Status WhyNotUnderFilters(const FilterFacts& facts);

}  // namespace coz::attach

#endif  // COZ_ATTACH_FILTER_VERDICT_H_
