// Finds the session that profiles a process, or that a supervisor runs, and lets it be read.
//
// Shape    a view of the session's control block, which cannot be written through it
// Units    none
// Errors   NOT_FOUND: no session that may be read has the process; FAILED_PRECONDITION: another
//          version of coz runs it
// Threads  compatible
// Signals  none
// Source   proc(5): /proc/PID/fd of the supervisor has the block's memory
#ifndef COZ_SUPERVISOR_TARGET_RUNNING_SESSION_H_
#define COZ_SUPERVISOR_TARGET_RUNNING_SESSION_H_

#include <sys/types.h>

#include <memory>

#include "absl/status/statusor.h"
#include "coz/shared/control_block.h"

namespace coz::supervisor {

struct Unmap {
  void operator()(const shared::ControlBlock* block) const;
};
using SessionView = std::unique_ptr<const shared::ControlBlock, Unmap>;

absl::StatusOr<SessionView> FindSession(pid_t pid);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_RUNNING_SESSION_H_
