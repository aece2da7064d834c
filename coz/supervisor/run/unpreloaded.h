// What a launcher has started without LD_PRELOAD (`env -i`, sudo): a program of which coz knows
// nothing.
//
// Shape    one process, the first that is found
// Units    none
// Errors   none: who may not be looked into is not found
// Threads  safe
// Signals  none
// Source   proc(5), /proc/PID/environ: the environment with which the program was started
#ifndef COZ_SUPERVISOR_RUN_UNPRELOADED_H_
#define COZ_SUPERVISOR_RUN_UNPRELOADED_H_

#include <sys/types.h>

#include <string>

#include "coz/shared/control_block.h"

namespace coz::supervisor {

struct UnpreloadedProgram {
  pid_t pid = 0;  // 0: none
  std::string name;
  // What it is, and what to do.
  std::string Text() const;
};

// Among `first` and those that descend from it.
UnpreloadedProgram FindUnpreloaded(const shared::ControlBlock& control, pid_t first);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_RUN_UNPRELOADED_H_
