// What the runtime does in wrapped calls that concern the whole process.
//
// Shape    the hooks of coz/sync/interpose/process_hooks.h
// Units    none
// Errors   none
// Threads  set before threads start
// Signals  as in coz/sync/interpose/process_hooks.h
// Source   docs/design/processes.md
#ifndef COZ_RUNTIME_PROCESS_HOOKS_H_
#define COZ_RUNTIME_PROCESS_HOOKS_H_

#include "coz/sync/interpose/process_hooks.h"

namespace coz::runtime {

interpose::ProcessHooks RuntimeProcessHooks();

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_PROCESS_HOOKS_H_
