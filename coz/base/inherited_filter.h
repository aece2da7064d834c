// What filters of system calls (seccomp) that coz has inherited do with its calls. A child makes
// each with arguments that the kernel refuses, and may be ended for it.
//
// Shape    one answer for the life of the process
// Units    none
// Errors   none: where /proc or a child cannot be had, no call counts as filtered
// Threads  call it first before the process has threads; safe from then on
// Signals  not async-signal-safe
// Source   seccomp(2); proc(5), "Seccomp" of /proc/PID/status
#ifndef COZ_BASE_INHERITED_FILTER_H_
#define COZ_BASE_INHERITED_FILTER_H_

#include <string>

#include "coz/base/spared_calls.h"

namespace coz {

struct FilteredCalls {
  CallSet deadly = 0;    // of kSparedCalls
  CallSet filtered = 0;  // the same, and those that fail
  // Names of calls that coz cannot go without, and that would end it; with a space between them.
  std::string needed;
};

// Asks on the first call, and fills g_deadly_calls and g_filtered_calls.
const FilteredCalls& CallsOfInheritedFilter();

}  // namespace coz

#endif  // COZ_BASE_INHERITED_FILTER_H_
