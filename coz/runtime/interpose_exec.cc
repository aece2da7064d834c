// The exec family: sampling is off while the kernel replaces the program, for the new one has no handler for a sample that was
// under way. And the program gets the library only where it can be loaded. Process: target. Context: the program's threads.
#include <alloca.h>
#include <stdarg.h>
#include <unistd.h>

#include <cerrno>

#include "coz/runtime/preload_environment.h"
#include "coz/runtime/runtime.h"
#include "coz/sync/thread_sync.h"
#include "coz/sync/wrapped_calls.h"

namespace coz {
namespace {

// A child of vfork shares the memory of its parent, whose one thread waits: it pays for that, and must not touch the sampler.
template <typename Call>
int ExecUnsampled(Call call) {
  PayIfBehind();  // the program that it becomes starts level
  if (!IsProfiledProcess()) return call();
  PrepareProcessForExec();
  const int result = call();
  ResumeProcessAfterFailedExec();
  return result;
}

// call(environment) with the library only where the dynamic linker can open it.
template <typename Call>
int Exec(char* const* environment, Call call) {
  constexpr size_t kMostEntries = 1 << 14;  // what the stack has room for
  const char* preload =
      HasLeftProfile() ? FindPreload(environment) : FindUnreachablePreload(environment);
  const size_t entries = preload == nullptr ? 0 : CountEntries(environment);
  if (preload == nullptr || entries > kMostEntries) {
    return ExecUnsampled([=] { return call(environment); });
  }
  char** copy = static_cast<char**>(alloca(entries * sizeof(char*)));
  CopyWithoutPreload(environment, preload, copy, static_cast<char*>(alloca(PreloadBytes(preload))));
  return ExecUnsampled([=] { return call(copy); });
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
  return Exec(envp,
              [=](char* const* environment) { return g_real.execve(path, argv, environment); });
}

int execv(const char* path, char* const argv[]) noexcept {
  return Exec(environ,
              [=](char* const* environment) { return g_real.execve(path, argv, environment); });
}

int execvp(const char* file, char* const argv[]) noexcept {
  return Exec(environ,
              [=](char* const* environment) { return g_real.execvpe(file, argv, environment); });
}

int execvpe(const char* file, char* const argv[], char* const envp[]) noexcept {
  return Exec(envp,
              [=](char* const* environment) { return g_real.execvpe(file, argv, environment); });
}

int fexecve(int fd, char* const argv[], char* const envp[]) noexcept {
  return Exec(envp,
              [=](char* const* environment) { return g_real.fexecve(fd, argv, environment); });
}

int execveat(int directory, const char* path, char* const argv[], char* const envp[],
             int flags) noexcept {
  return Exec(envp, [=](char* const* environment) {
    return g_real.execveat(directory, path, argv, environment, flags);
  });
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
