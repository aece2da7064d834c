// The numbers of the machine's CPUs, for events that are opened on each.
//
// Shape    ascending; numbers may be missing (CPUs to be added, or left out by the firmware)
// Units    the kernel's numbers of CPUs
// Errors   a text that is no list: empty
// Threads  safe
// Signals  not safe
// Source   Documentation/admin-guide/cputopology.rst of Linux
#ifndef COZ_POINTS_CPU_LIST_H_
#define COZ_POINTS_CPU_LIST_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace coz::points {

// "0-3,8,10-11".
std::vector<int> ParseCpuList(absl::string_view text);

// All that the kernel may have, running or not. Where it does not say: all that are configured,
// from 0.
std::vector<int> PossibleCpus();

}  // namespace coz::points

#endif  // COZ_POINTS_CPU_LIST_H_
