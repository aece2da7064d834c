#include "coz/supervisor/target/container_entry.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "coz/attach/process_view.h"
#include "coz/base/file_text.h"
#include "coz/base/spared_calls.h"
#include "coz/base/unique_fd.h"

namespace coz::supervisor {
namespace {

// The process's number in its own namespace is the last one.
pid_t NumberInside(pid_t pid) {
  const attach::StatusFields status = attach::ReadStatus(pid);
  const auto numbers = status.find("NSpid");
  if (numbers == status.end()) return 0;
  const std::vector<std::string> all = absl::StrSplit(numbers->second, '\t');
  return atoi(all.back().c_str());
}

bool HasOtherNamespace(pid_t pid, const char* kind) {
  struct stat theirs = {};
  struct stat ours = {};
  return stat(absl::StrFormat("/proc/%d/ns/%s", pid, kind).c_str(), &theirs) == 0 &&
         stat(absl::StrFormat("/proc/self/ns/%s", kind).c_str(), &ours) == 0 &&
         theirs.st_ino != ours.st_ino;
}

absl::Status Refused(pid_t pid, const std::string& what, int error) {
  return absl::UnavailableError(
      absl::StrFormat("process %d is in a container, %s: %s; run coz in there, for example: docker "
                      "exec CONTAINER coz attach PID",
                      pid, what, strerror(error)));
}

absl::Status JoinNamespaces(pid_t pid) {
  const UniqueFd process(SparedCall<SYS_pidfd_open>(pid, 0));
  if (!process.ok()) return Refused(pid, "and cannot be watched (pidfd_open)", errno);
  const UniqueFd folder(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (setns(process.get(), CLONE_NEWNS | CLONE_NEWPID) != 0) {
    if (errno != EPERM) return Refused(pid, "which cannot be entered (setns)", errno);
    return absl::PermissionDeniedError(absl::StrFormat(
        "process %d is in a container, and only root may go in; type the same with sudo", pid));
  }
  if (folder.ok() && fchdir(folder.get()) == 0) return absl::OkStatus();
  return Refused(pid, "where the current folder cannot be kept", errno);
}

// Nobody but root can have put the file there, or can change it.
bool IsOfRootAlone(const std::string& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0 && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && !S_ISLNK(status.st_mode);
}

// A folder may be mounted without the right to execute what is in it.
bool MayBeExecuted(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return false;
  void* const mapped = mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return false;
  munmap(mapped, 1);
  return true;
}

// The mode is set whatever the umask is: the process may have another user.
bool WriteFile(const std::string& path, const std::string& bytes) {
  const std::string draft = absl::StrCat(path, ".draft");
  const UniqueFd file(open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.ok() || fchmod(file.get(), 0644) != 0) return false;
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = write(file.get(), bytes.data() + written, bytes.size() - written);
    if (count <= 0) return false;
    written += static_cast<size_t>(count);
  }
  return rename(draft.c_str(), path.c_str()) == 0;
}

// One that is there already is taken as it is: the process may have it mapped.
bool PutFile(const std::string& folder, const std::string& path, const std::string& bytes) {
  if (mkdir(folder.c_str(), 0755) == 0 ? chmod(folder.c_str(), 0755) != 0 : errno != EEXIST) {
    return false;
  }
  if (!IsOfRootAlone(folder)) return false;
  const bool is_there = IsOfRootAlone(path) && FileText(path) == bytes;
  return (is_there || WriteFile(path, bytes)) && MayBeExecuted(path);
}

// What the terminal sends, it sends to the child, too.
void PassOn(const siginfo_t& signal, pid_t child) {
  if (signal.si_code <= 0) kill(child, signal.si_signo);
}

// With the first process of a PID namespace the kernel kills all that are in it.
[[noreturn]] void EndAs(int status, const std::string& when_killed) {
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGKILL && !when_killed.empty()) {
    fprintf(stderr, "%s\n", when_killed.c_str());
  }
  _exit(128 + WTERMSIG(status));
}

[[noreturn]] void WaitFor(pid_t child, const sigset_t& signals, const std::string& when_killed) {
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) EndAs(status, when_killed);
    siginfo_t signal = {};
    if (sigwaitinfo(&signals, &signal) > 0 && signal.si_signo != SIGCHLD) PassOn(signal, child);
  }
}

// Returns in the child.
absl::Status GoOnInChild(pid_t pid, const std::string& when_killed) {
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t child = fork();
  if (child > 0) WaitFor(child, signals, when_killed);
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return Refused(pid, "where no process can be made (fork)", error);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  return absl::OkStatus();
}

// Whether /proc numbers the processes of another namespace: where a namespace was made without a
// /proc of its own (`unshare --pid --fork`).
bool ProcIsOfOthers() {
  char target[16] = "";
  const ssize_t length = readlink("/proc/self", target, sizeof(target) - 1);
  return length <= 0 || atoi(target) != getpid();
}

// For this process alone; the container sees nothing of it.
absl::Status MountOwnProc(pid_t pid) {
  const UniqueFd folder(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
      mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 &&
      folder.ok() && fchdir(folder.get()) == 0) {
    return absl::OkStatus();
  }
  return Refused(
      pid, "whose /proc numbers the processes of another, and cannot be replaced (mount)", errno);
}

}  // namespace

bool IsInContainer(pid_t pid) { return HasOtherNamespace(pid, "pid") && NumberInside(pid) > 0; }

bool IsHiddenFrom(pid_t pid, const std::string& file) {
  struct stat theirs = {};
  struct stat ours = {};
  if (!HasOtherNamespace(pid, "mnt") || stat(file.c_str(), &ours) != 0) return false;
  const bool is_there = stat(absl::StrFormat("/proc/%d/root%s", pid, file).c_str(), &theirs) == 0;
  return !is_there || theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino;
}

absl::StatusOr<pid_t> EnterContainer(pid_t pid, const std::string& when_killed) {
  const pid_t inside = NumberInside(pid);
  if (absl::Status joined = JoinNamespaces(pid); !joined.ok()) return joined;
  if (absl::Status forked = GoOnInChild(pid, when_killed); !forked.ok()) return forked;
  if (ProcIsOfOthers()) {
    if (absl::Status mounted = MountOwnProc(pid); !mounted.ok()) return mounted;
  }
  return inside;
}

absl::StatusOr<std::string> PutLibrary(const std::string& bytes) {
  const std::vector<std::string> kFolders = {"/tmp", "/var/tmp", "/run", "/dev/shm"};
  const size_t digest = std::hash<std::string>()(bytes);
  for (const std::string& within : kFolders) {
    const std::string folder = absl::StrFormat("%s/coz-%016x", within, digest);
    const std::string path = folder + "/libcoz.so";
    if (PutFile(folder, path, bytes)) return path;
    unlink(path.c_str());
    rmdir(folder.c_str());
  }
  return absl::UnavailableError(absl::StrFormat(
      "libcoz.so cannot be put into one of the container's folders %s, where it could be executed; "
      "give the container one: docker run --tmpfs /tmp:exec",
      absl::StrJoin(kFolders, ", ")));
}

}  // namespace coz::supervisor
