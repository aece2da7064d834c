// Where coz has to be to attach to a process.
//
// Shape    one call before anything else is done; a process that coz can attach to from where it is
//          changes nothing
// Units    process numbers
// Errors   one sentence with what to type next
// Threads  call it while there is one: it may enter other namespaces
// Signals  none
// Source   docs/design/attach.md, "Containers"
#ifndef COZ_TOOLS_PROCESS_ENTRY_H_
#define COZ_TOOLS_PROCESS_ENTRY_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace coz {

bool IsElsewhere(pid_t pid, const std::string& runtime_library);

// Enters the container of a process that is elsewhere, and puts the library where the process finds
// it. The current folder stays outside. Returns the process's number there. `said_at_its_end`: what
// coz says should the container end.
absl::StatusOr<pid_t> GoWhereProcessIs(pid_t pid, const std::string& said_at_its_end,
                                       std::string* runtime_library);

}  // namespace coz

#endif  // COZ_TOOLS_PROCESS_ENTRY_H_
