// The processes that descend from one.
//
// Shape    their numbers, parents before their children
// Units    none
// Errors   who ends meanwhile may be missing
// Threads  safe
// Signals  none
// Source   proc(5), /proc/PID/status
#ifndef COZ_SUPERVISOR_TARGET_DESCENDANTS_H_
#define COZ_SUPERVISOR_TARGET_DESCENDANTS_H_

#include <sys/types.h>

#include <vector>

namespace coz::supervisor {

// Without the process itself.
std::vector<pid_t> DescendantsOf(pid_t pid);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_DESCENDANTS_H_
