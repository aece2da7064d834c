#include "coz/testing/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coz/base/unique_fd.h"

namespace coz::testing {
namespace {

// Files take any amount of text without a reader at work.
UniqueFd MemoryFile(const std::string& text) {
  UniqueFd fd(memfd_create("test", MFD_CLOEXEC));
  if (!fd.ok() || write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    abort();
  }
  lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

std::string Contents(const UniqueFd& fd) {
  struct stat status;
  if (fstat(fd.get(), &status) != 0) abort();
  std::string text(static_cast<size_t>(status.st_size), '\0');
  if (pread(fd.get(), text.data(), text.size(), 0) != status.st_size) abort();
  return text;
}

[[noreturn]] void Become(const std::vector<std::string>& arguments, const CommandOptions& options,
                         int input, int output, int errors) {
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(127);
  for (const std::string& entry : options.environment) putenv(const_cast<char*>(entry.c_str()));
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  _exit(127);
}

}  // namespace

CommandResult RunCommand(const std::vector<std::string>& arguments, const CommandOptions& options) {
  const UniqueFd input = MemoryFile(options.input);
  const UniqueFd output = MemoryFile("");
  const UniqueFd errors = MemoryFile("");
  const pid_t pid = fork();
  if (pid < 0) abort();
  if (pid == 0) Become(arguments, options, input.get(), output.get(), errors.get());
  if (options.while_running) options.while_running(pid);
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended = {pidfd.get(), POLLIN, 0};
  if (poll(&ended, 1, options.limit_s * 1000) != 1) kill(pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  CommandResult result;
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.output = Contents(output);
  result.errors = Contents(errors);
  return result;
}

std::string RunfilePath(const std::string& path) {
  const char* root = getenv("TEST_SRCDIR");
  const char* workspace = getenv("TEST_WORKSPACE");
  if (root == nullptr || workspace == nullptr) return path;
  return std::string(root) + "/" + workspace + "/" + path;
}

std::string TemporaryFolder() {
  const char* root = getenv("TEST_TMPDIR");
  std::string folder = std::string(root != nullptr ? root : "/tmp") + "/coz-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) abort();
  return folder;
}

}  // namespace coz::testing
