// Goes into the container of a process: into its PID namespace and its mounts, where its number,
// its files and libcoz.so are what they are for the process itself.
//
// Shape    EnterContainer goes on in a child of the calling process, whose current folder stays
//          what it was, outside. The calling process waits, and ends as the child does
// Units    process numbers: outside as argument, inside as result
// Errors   PERMISSION_DENIED, UNAVAILABLE: one sentence. The process may be inside by then, and has
//          to end
// Threads  the process must have one alone (setns(2))
// Signals  the waiting process passes on what is sent to it alone
// Source   setns(2); pid_namespaces(7); proc(5), NSpid
#ifndef COZ_SUPERVISOR_TARGET_CONTAINER_ENTRY_H_
#define COZ_SUPERVISOR_TARGET_CONTAINER_ENTRY_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace coz::supervisor {

// Whether the process is in a PID namespace below this one. False, too, where that may not be seen.
bool IsInContainer(pid_t pid);

// Whether the process has mounts of its own, among which this file is not. A service of systemd may
// see no home folders, say.
bool IsHiddenFrom(pid_t pid, const std::string& file);

// The waiting process says `when_killed` where the child is killed, as by the end of the container.
absl::StatusOr<pid_t> EnterContainer(pid_t pid, const std::string& when_killed);

// In there: puts libcoz.so where every process sees it and may execute it, and returns its path. It
// stays, as processes have it mapped.
absl::StatusOr<std::string> PutLibrary(const std::string& bytes);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_CONTAINER_ENTRY_H_
