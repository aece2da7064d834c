// How many files this process may have open: a process that is attached to takes some for each of
// its threads.
//
// Shape    the soft limit goes up to the hard one; what is started afterwards inherits that
// Units    descriptors
// Errors   RESOURCE_EXHAUSTED: too few may be open; one sentence with what to type next
// Threads  safe
// Signals  none
// Source   getrlimit(2)
#ifndef COZ_SUPERVISOR_TARGET_FILE_LIMIT_H_
#define COZ_SUPERVISOR_TARGET_FILE_LIMIT_H_

#include <sys/types.h>

#include "absl/status/status.h"

namespace coz::supervisor {

void RaiseFileLimit();

// Raises the limit, and refuses where coz would find no descriptor amid what it does: what it
// cannot read then looks like something else.
absl::Status MakeRoomToAttach(pid_t pid);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_FILE_LIMIT_H_
