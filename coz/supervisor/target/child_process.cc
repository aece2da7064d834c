#include "coz/supervisor/target/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "coz/base/preload_needs.h"
#include "coz/base/spared_calls.h"
#include "coz/base/write_signals.h"
#include "coz/shared/control_block.h"

namespace coz::supervisor {
namespace {

constexpr char kShellStatus[] = "coz/shell_status";

absl::Status WithShellStatus(absl::Status error, int shell_status) {
  error.SetPayload(kShellStatus, absl::Cord(absl::StrCat(shell_status)));
  return error;
}

absl::Status NotFound(const std::string& message) {
  return WithShellStatus(absl::NotFoundError(message), 127);
}

bool IsFile(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool IsFolder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

absl::Status NotExecutable(const std::string& path) {
  return WithShellStatus(
      absl::PermissionDeniedError(absl::StrFormat(
          "cannot run %s: it is not executable; make it so with: chmod +x %s", path, path)),
      126);
}

absl::StatusOr<std::string> CheckPath(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) {
    return NotFound(
        absl::StrFormat("cannot run %s: %s; look with: ls -l %s", path, strerror(errno), path));
  }
  if (IsFolder(path)) {
    return WithShellStatus(absl::InvalidArgumentError(absl::StrFormat(
                               "cannot run %s: it is a folder; name a program in it", path)),
                           126);
  }
  if (access(path.c_str(), X_OK) != 0) return NotExecutable(path);
  if (!IsFile(path)) {
    return WithShellStatus(
        absl::InvalidArgumentError(absl::StrFormat(
            "cannot run %s: it is a pipe, socket or device; look with: ls -l %s", path, path)),
        126);
  }
  return path;
}

// libcoz.so and behind it the libraries that the user preloads. A sanitizer's library goes first
// (coz/sync/interpose/preload_environment.h).
std::string PreloadList(const StartOptions& options, absl::string_view others) {
  const absl::string_view first = others.substr(0, others.find_first_of(": "));
  if (IsSanitizerRuntime(first.data(), first.size())) {
    return absl::StrCat(first, ":", options.preload, others.substr(first.size()));
  }
  const SanitizerRuntime sanitizer = FindPreloadNeeds(AT_FDCWD, options.program.c_str()).sanitizer;
  return absl::StrCat(sanitizer.name, sanitizer.name[0] != '\0' ? " " : "", options.preload,
                      others.empty() ? "" : ":", others);
}

// The environment of the child: this process's, with library and control block where there are any.
std::vector<std::string> MakeEnvironment(const StartOptions& options) {
  std::vector<std::string> environment;
  if (options.preload.empty()) {
    for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
    return environment;
  }
  absl::string_view preloaded;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    if (absl::StartsWith(text, "LD_PRELOAD=")) {
      preloaded = text.substr(strlen("LD_PRELOAD="));
    } else if (!absl::StartsWith(text, absl::StrCat(shared::kControlVariable, "="))) {
      environment.emplace_back(text);
    }
  }
  environment.push_back(absl::StrCat("LD_PRELOAD=", PreloadList(options, preloaded)));
  environment.push_back(absl::StrCat(shared::kControlVariable, "=", options.control_path));
  return environment;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// In the child, between fork and exec.
[[noreturn]] void Become(const StartOptions& options, char* const* arguments,
                         char* const* environment, int error_pipe) {
  options.pid_cell->store(getpid(), std::memory_order_release);
  RestoreWriteSignals();
  sigprocmask(SIG_SETMASK, options.signal_mask, nullptr);
  execve(options.program.c_str(), arguments, environment);
  const int error = errno;
  (void)!write(error_pipe, &error, sizeof(error));
  _exit(127);
}

absl::Status ExecError(const std::string& program, int error) {
  if (error == ENOEXEC) {
    return WithShellStatus(
        absl::InvalidArgumentError(absl::StrFormat(
            "cannot run %s: it is neither a program nor a script with a #! line; see: file %s",
            program, program)),
        126);
  }
  return WithShellStatus(
      absl::UnavailableError(
          absl::StrFormat("cannot run %s: %s; try it without coz first", program, strerror(error))),
      error == ENOENT ? 127 : 126);
}

}  // namespace

absl::StatusOr<std::string> FindProgram(const std::string& name) {
  if (name.empty()) return NotFound("cannot run a program without a name; write one after ---");
  if (name.find('/') != std::string::npos) return CheckPath(name);
  const char* path = getenv("PATH");
  std::string found_not_executable;
  for (absl::string_view folder : absl::StrSplit(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    const std::string candidate = absl::StrCat(folder.empty() ? "." : folder, "/", name);
    if (access(candidate.c_str(), F_OK) != 0 || IsFolder(candidate)) continue;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    found_not_executable = candidate;
  }
  if (!found_not_executable.empty()) return NotExecutable(found_not_executable);
  if (access(name.c_str(), X_OK) == 0 && !IsFolder(name)) {
    return NotFound(absl::StrFormat(
        "cannot run %s: it is in no folder of $PATH, but in this folder; write ./%s", name, name));
  }
  return NotFound(absl::StrFormat(
      "cannot run %s: no folder of $PATH has a program of this name; look with: type %s", name,
      name));
}

int ShellStatus(const absl::Status& error) {
  const auto text = error.GetPayload(kShellStatus);
  int shell_status = 0;
  return text.has_value() && absl::SimpleAtoi(std::string(*text), &shell_status) ? shell_status : 0;
}

absl::StatusOr<ChildProcess> ChildProcess::Start(const StartOptions& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "cannot start %s: no pipe: %s; coz needs some descriptors, run: ulimit -n 64",
        options.program, strerror(errno)));
  }
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const std::vector<std::string> environment = MakeEnvironment(options);
  const std::vector<char*> argument_pointers = Pointers(options.arguments);
  const std::vector<char*> environment_pointers = Pointers(environment);
  const pid_t pid = fork();
  if (pid < 0) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("cannot start %s: no new process: %s; look at: ulimit -u", options.program,
                        strerror(errno)));
  }
  if (pid == 0) {
    Become(options, argument_pointers.data(), environment_pointers.data(), write_end.get());
  }
  write_end.Reset();
  int error = 0;
  // End of file: the pipe was closed by a successful exec.
  if (read(read_end.get(), &error, sizeof(error)) == sizeof(error)) {
    waitpid(pid, nullptr, 0);
    return ExecError(options.program, error);
  }
  return ChildProcess(pid, UniqueFd(SparedCall<SYS_pidfd_open>(pid, 0)));
}

ChildProcess ChildProcess::Adopt(pid_t pid) {
  ChildProcess process(pid, UniqueFd(SparedCall<SYS_pidfd_open>(pid, 0)));
  process.is_adopted_ = true;
  return process;
}

const ExitState& ChildProcess::Poll() {
  if (is_adopted_) {
    pollfd fd = {pidfd_.get(), POLLIN, 0};
    if (!pidfd_.ok() || poll(&fd, 1, 0) == 1) exit_.exited = true;
    return exit_;
  }
  while (!exit_.exited) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG | WUNTRACED) != pid_) break;
    if (WIFSTOPPED(status)) {
      ++stops_;
    } else if (WIFEXITED(status)) {
      exit_ = {true, WEXITSTATUS(status), 0};
    } else if (WIFSIGNALED(status)) {
      exit_ = {true, 0, WTERMSIG(status)};
    }
  }
  return exit_;
}

void ExitLike(const ExitState& state) {
  if (state.signal == 0) exit(state.status);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_DUMPABLE, 0);  // a core_pattern that pipes ignores the limit
  signal(state.signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, state.signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  raise(state.signal);
  exit(128 + state.signal);  // SIGKILL and SIGSTOP aside, never reached
}

}  // namespace coz::supervisor
