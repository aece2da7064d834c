// The exec family: sampling is off while the kernel replaces the program, for the new one has no handler for a sample that was
// under way. Process: target. Context: the program's threads.
#include <stdarg.h>
#include <unistd.h>

#include <cerrno>

#include "coz/runtime/runtime.h"
#include "coz/sync/thread_sync.h"
#include "coz/sync/wrapped_calls.h"

namespace coz {
namespace {

// A child of vfork shares the memory of its parent, whose one thread waits: it pays for that, and must not touch the sampler.
template <typename Call>
int Exec(Call call) {
  PayIfBehind();  // the program that it becomes starts level
  if (!IsProfiledProcess()) return call();
  PrepareProcessForExec();
  const int result = call();
  ResumeProcessAfterFailedExec();
  return result;
}

constexpr int kMaxListedArguments = 1024;

// The arguments of an execl call, NUL-terminated in `arguments`; false when there are more than fit.
bool CollectArguments(const char* first, va_list& list, char** arguments) {
  int count = 0;
  for (const char* argument = first;; argument = va_arg(list, const char*)) {
    arguments[count] = const_cast<char*>(argument);
    if (argument == nullptr) return true;
    if (++count == kMaxListedArguments) {
      errno = E2BIG;
      return false;
    }
  }
}

}  // namespace
}  // namespace coz

using coz::Exec;
using coz::g_real;

extern "C" {

int execve(const char* path, char* const argv[], char* const envp[]) noexcept {
  return Exec([=] { return g_real.execve(path, argv, envp); });
}

int execv(const char* path, char* const argv[]) noexcept {
  return Exec([=] { return g_real.execv(path, argv); });
}

int execvp(const char* file, char* const argv[]) noexcept {
  return Exec([=] { return g_real.execvp(file, argv); });
}

int execvpe(const char* file, char* const argv[], char* const envp[]) noexcept {
  return Exec([=] { return g_real.execvpe(file, argv, envp); });
}

int fexecve(int fd, char* const argv[], char* const envp[]) noexcept {
  return Exec([=] { return g_real.fexecve(fd, argv, envp); });
}

int execveat(int directory, const char* path, char* const argv[], char* const envp[],
             int flags) noexcept {
  return Exec([=] { return g_real.execveat(directory, path, argv, envp, flags); });
}

int execl(const char* path, const char* first, ...) noexcept {
  char* arguments[coz::kMaxListedArguments];
  va_list list;
  va_start(list, first);
  const bool collected = coz::CollectArguments(first, list, arguments);
  va_end(list);
  return collected ? execv(path, arguments) : -1;
}

int execlp(const char* file, const char* first, ...) noexcept {
  char* arguments[coz::kMaxListedArguments];
  va_list list;
  va_start(list, first);
  const bool collected = coz::CollectArguments(first, list, arguments);
  va_end(list);
  return collected ? execvp(file, arguments) : -1;
}

int execle(const char* path, const char* first, ...) noexcept {
  char* arguments[coz::kMaxListedArguments];
  va_list list;
  va_start(list, first);
  const bool collected = coz::CollectArguments(first, list, arguments);
  char* const* environment = collected ? va_arg(list, char* const*) : nullptr;
  va_end(list);
  return collected ? execve(path, arguments, environment) : -1;
}

}  // extern "C"
