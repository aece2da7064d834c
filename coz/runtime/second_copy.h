// Whether another copy of this library runs in the process already: an emulator (qemu-x86_64) has
// one, and the program in it loads its own.
//
// Shape    one answer for the process
// Units    none
// Errors   where its mappings cannot be read, it has one copy
// Threads  safe
// Signals  not async-signal-safe
// Source   proc(5), /proc/PID/task/TID/maps
#ifndef COZ_RUNTIME_SECOND_COPY_H_
#define COZ_RUNTIME_SECOND_COPY_H_

#include <sys/types.h>

#include "coz/shared/control_block.h"

namespace coz::runtime {

// To be asked before the process takes a slot in the block.
bool IsSecondCopy(shared::ControlBlock& control, pid_t pid);

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_SECOND_COPY_H_
