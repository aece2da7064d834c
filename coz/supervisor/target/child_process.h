// The profiled program as a child of the supervisor. Finds it, starts it with the preload library,
// waits for it, and ends the supervisor as it ended.
//
// Shape    one child
// Units    none
// Errors   FindProgram and Start: NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE, in one sentence with
//          the next command
// Threads  compatible
// Signals  the child starts with the signal mask and dispositions that the supervisor was started
//          with
// Source   execvp(3), pidfd_open(2), waitid(2)
#ifndef COZ_SUPERVISOR_TARGET_CHILD_PROCESS_H_
#define COZ_SUPERVISOR_TARGET_CHILD_PROCESS_H_

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/base/unique_fd.h"

namespace coz::supervisor {

// The file that execvp would run for `name`: `name` itself if it has a slash, else the first
// executable of that name in $PATH.
absl::StatusOr<std::string> FindProgram(const std::string& name);

// What a shell ends with for an error of FindProgram or Start: 127 where the program was not found,
// 126 where it was and could not be executed; 0 for any other.
int ShellStatus(const absl::Status& error);

struct ExitState {
  bool exited = false;  // false while it runs
  int status = 0;       // exit status, where it ended by itself
  int signal = 0;       // the signal that ended it, or 0
};

struct StartOptions {
  std::string program;                 // path
  std::vector<std::string> arguments;  // with argv[0]
  // Path of libcoz.so; put before what LD_PRELOAD has. Empty: the environment is left as it is.
  std::string preload;
  std::string control_path;
  std::atomic<int32_t>* pid_cell;  // in shared memory: the child writes its pid before exec
  const sigset_t* signal_mask;     // of the child
};

class ChildProcess {
 public:
  static absl::StatusOr<ChildProcess> Start(const StartOptions& options);
  // A process that is not this one's child. How it ends and that it was stopped is not told.
  static ChildProcess Adopt(pid_t pid);

  pid_t pid() const { return pid_; }
  // Readable when the child has ended.
  int pidfd() const { return pidfd_.get(); }

  // Reaps the child if it has ended and counts its stops, without waiting.
  const ExitState& Poll();
  const ExitState& exit_state() const { return exit_; }
  uint64_t stops() const { return stops_; }

 private:
  ChildProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  UniqueFd pidfd_;
  bool is_adopted_ = false;
  ExitState exit_;
  uint64_t stops_ = 0;
};

// Ends this process the way the child ended: with its status, or by its signal. It writes no second
// core file.
[[noreturn]] void ExitLike(const ExitState& state);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_TARGET_CHILD_PROCESS_H_
