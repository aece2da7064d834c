// Asks a session that runs.
//
// Shape    one request, and the text of its answer
// Units    process numbers
// Errors   NOT_FOUND: no session of this process; names the sessions there are. PERMISSION_DENIED:
//          another user's. UNAVAILABLE: it has ended meanwhile, or does not answer.
//          FAILED_PRECONDITION: what the session itself has against it. Each one sentence
// Threads  safe
// Signals  not safe
// Source   unix(7); proc(5)
#ifndef COZ_SUPERVISOR_SESSION_ASK_SESSION_H_
#define COZ_SUPERVISOR_SESSION_ASK_SESSION_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace coz::supervisor {

// `process`: coz itself, its program, or any process that descends from either.
absl::StatusOr<std::string> AskSession(pid_t process, const std::string& request);

// The processes after which sessions are named now, in this network namespace.
std::vector<pid_t> RunningSessions();

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_SESSION_ASK_SESSION_H_
