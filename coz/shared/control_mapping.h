// Finds the supervisor's control block from within a process of the target.
//
// Shape    one mapping per process, for its whole life; children of fork inherit it
// Units    none
// Errors   null where the process is not to be profiled. The first process says why on standard error, in one line; others are as
//          silent as without the profiler
// Threads  for the one thread that there is when a process starts
// Signals  IsInNamespaceOf is async-signal-safe, MapControlBlock is not
// Source   memfd_create(2), pid_namespaces(7)
#ifndef COZ_SHARED_CONTROL_MAPPING_H_
#define COZ_SHARED_CONTROL_MAPPING_H_

#include "coz/shared/control_block.h"

namespace coz::shared {

// The block that the environment names, if this process is to be profiled.
ControlBlock* MapControlBlock();

// Whether the calling process's number means the same to the supervisor.
bool IsInNamespaceOf(const ControlBlock& control);

}  // namespace coz::shared

#endif  // COZ_SHARED_CONTROL_MAPPING_H_
