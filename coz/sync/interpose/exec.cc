// The exec family, posix_spawn, popen and system. Sampling is off during an exec, because the new
// program has no handler for a sample that is on its way. The new program gets libcoz.so only where
// it can be loaded. Process: target. Context: the program's threads.
#include <alloca.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "coz/base/preload_needs.h"
#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/preload_environment.h"
#include "coz/sync/interpose/process_hooks.h"
#include "coz/sync/interpose/stdio_tables.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

// Runs an exec call with sampling off. A child of vfork shares the memory of its parent, and the
// parent's thread waits for it. Such a child pays for that thread, but must not touch the sampler.
template <typename Call>
int ExecUnsampled(Call call) {
  PayIfBehind();  // the new program starts level
  if (!g_process_hooks.is_profiled()) return call();
  g_process_hooks.prepare_for_exec();
  const int result = call();
  g_process_hooks.resume_after_failed_exec();
  return result;
}

// Where a program lies: `path` is relative to the descriptor `folder`. An empty path means that the
// descriptor is the file itself.
struct Program {
  int folder;
  const char* path;
};

// Returns the file that libc will find for `name` in $PATH. Its path is written to `buffer`.
Program FindInPath(const char* name, char (&buffer)[PATH_MAX]) {
  if (strchr(name, '/') != nullptr) return {AT_FDCWD, name};
  const char* folders = getenv("PATH");
  if (folders == nullptr) folders = "/bin:/usr/bin";
  const size_t name_length = strlen(name);
  while (true) {
    const size_t length = strcspn(folders, ":");
    if (length + name_length + 2 <= sizeof(buffer)) {
      memcpy(buffer, folders, length);
      char* end = buffer + length;
      if (length > 0) *end++ = '/';
      memcpy(end, name, name_length + 1);
      if (RawSyscall(SYS_access, static_cast<char*>(buffer), X_OK) == 0) return {AT_FDCWD, buffer};
    }
    if (folders[length] == '\0') return {AT_FDCWD, name};
    folders += length + 1;
  }
}

// Whether an exec of it may succeed. What an open descriptor leads to is not asked for.
bool MayBeStarted(const Program& program) {
  return program.folder != AT_FDCWD || RawSyscall(SYS_access, program.path, X_OK) == 0;
}

constexpr size_t kMostEntries = 1 << 14;  // as many as the stack has room for

// Makes call(environment), in which libcoz.so is only if the dynamic linker can open it, and after
// the sanitizer's library if the program has one.
template <typename Call>
int CallWithReachable(const Program& program, char* const* environment, Call call) {
  const char* const preload = FindPreload(environment);
  if (preload == nullptr) return call(environment);
  const bool is_unreachable =
      !HasLeftThreadSync() && FindUnreachablePreload(environment) != nullptr;
  if (is_unreachable && MayBeStarted(program)) g_process_hooks.note_unreachable_program();
  PreloadNeeds needs;
  if (!HasLeftThreadSync() && !is_unreachable) {
    needs = FindPreloadNeeds(program.folder, program.path);
    if (!needs.can_load) g_process_hooks.note_foreign_program();
  }
  const bool left_out = HasLeftThreadSync() || is_unreachable || !needs.can_load;
  const SanitizerRuntime sanitizer =
      StartsWithSanitizer(preload) ? SanitizerRuntime() : needs.sanitizer;
  const size_t entries = CountEntries(environment);
  if ((!left_out && sanitizer.name[0] == '\0') || entries > kMostEntries) return call(environment);
  char** const copy = static_cast<char**>(alloca(entries * sizeof(char*)));
  char* const text = static_cast<char*>(alloca(PreloadBytes(preload)));
  if (left_out) {
    CopyWithoutPreload(environment, preload, copy, text);
  } else {
    CopyWithSanitizer(environment, preload, sanitizer, copy, text);
  }
  return call(copy);
}

// The same with libcoz.so where the program has put other libraries in its place.
template <typename Call>
int CallWithEnvironment(const Program& program, char* const* environment, Call call) {
  const char* const replaced = HasLeftThreadSync() ? nullptr : FindReplacedPreload(environment);
  if (replaced == nullptr) return CallWithReachable(program, environment, call);
  const size_t entries = CountEntries(environment);
  if (entries > kMostEntries) return call(environment);
  char** const copy = static_cast<char**>(alloca(entries * sizeof(char*)));
  char* const text = static_cast<char*>(alloca(BytesWithOwnLibrary(replaced)));
  CopyWithOwnLibrary(environment, replaced, copy, text);
  return CallWithReachable(program, copy, call);
}

template <typename Call>
int Exec(const Program& program, char* const* environment, Call call) {
  return CallWithEnvironment(program, environment, [=](char* const* passed) {
    return ExecUnsampled([=] { return call(passed); });
  });
}

// The new program starts level, so its creator pays first.
template <typename Call>
int Spawn(const Program& program, char* const* environment, Call call) {
  PayIfBehind();
  return CallWithEnvironment(program, environment, call);
}

// Drops an unreachable library from the process's own environment. For calls that take no other
// environment. The process itself no longer needs the entry.
void DropUnreachablePreload() {
  static char rest[PATH_MAX];
  char** const environment = ProgramEnvironment();
  const char* preload = FindUnreachablePreload(environment);
  if (preload == nullptr || PreloadBytes(preload) > sizeof(rest)) return;
  g_process_hooks.note_unreachable_program();
  CopyWithoutPreload(environment, preload, environment, rest);
}

constexpr int kMaxListedArguments = 1024;

// Collects the arguments of an execl call in `arguments`, with a null pointer at the end. Returns
// false if there are too many.
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
}  // namespace coz::interpose

using coz::interpose::Exec;
using coz::interpose::FindInPath;
using coz::interpose::g_real;
using coz::interpose::ProgramEnvironment;
using coz::interpose::Spawn;

extern "C" {

int execve(const char* path, char* const argv[], char* const envp[]) noexcept {
  return Exec({AT_FDCWD, path}, envp,
              [=](char* const* environment) { return g_real.execve(path, argv, environment); });
}

int execv(const char* path, char* const argv[]) noexcept {
  return Exec({AT_FDCWD, path}, ProgramEnvironment(),
              [=](char* const* environment) { return g_real.execve(path, argv, environment); });
}

int execvp(const char* file, char* const argv[]) noexcept {
  char found[PATH_MAX];
  return Exec(FindInPath(file, found), ProgramEnvironment(),
              [=](char* const* environment) { return g_real.execvpe(file, argv, environment); });
}

int execvpe(const char* file, char* const argv[], char* const envp[]) noexcept {
  char found[PATH_MAX];
  return Exec(FindInPath(file, found), envp,
              [=](char* const* environment) { return g_real.execvpe(file, argv, environment); });
}

int fexecve(int fd, char* const argv[], char* const envp[]) noexcept {
  return Exec({fd, ""}, envp,
              [=](char* const* environment) { return g_real.fexecve(fd, argv, environment); });
}

int execveat(int directory, const char* path, char* const argv[], char* const envp[],
             int flags) noexcept {
  return Exec({directory, path}, envp, [=](char* const* environment) {
    return g_real.execveat(directory, path, argv, environment, flags);
  });
}

int execl(const char* path, const char* first, ...) noexcept {
  char* arguments[coz::interpose::kMaxListedArguments];
  va_list list;
  va_start(list, first);
  const bool collected = coz::interpose::CollectArguments(first, list, arguments);
  va_end(list);
  return collected ? execv(path, arguments) : -1;
}

int execlp(const char* file, const char* first, ...) noexcept {
  char* arguments[coz::interpose::kMaxListedArguments];
  va_list list;
  va_start(list, first);
  const bool collected = coz::interpose::CollectArguments(first, list, arguments);
  va_end(list);
  return collected ? execvp(file, arguments) : -1;
}

int execle(const char* path, const char* first, ...) noexcept {
  char* arguments[coz::interpose::kMaxListedArguments];
  va_list list;
  va_start(list, first);
  const bool collected = coz::interpose::CollectArguments(first, list, arguments);
  char* const* environment = collected ? va_arg(list, char* const*) : nullptr;
  va_end(list);
  return collected ? execve(path, arguments, environment) : -1;
}

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const argv[], char* const envp[]) {
  return Spawn({AT_FDCWD, path}, envp, [=](char* const* environment) {
    return g_real.posix_spawn(pid, path, actions, attributes, argv, environment);
  });
}

int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const argv[], char* const envp[]) {
  char found[PATH_MAX];
  return Spawn(FindInPath(file, found), envp, [=](char* const* environment) {
    return g_real.posix_spawnp(pid, file, actions, attributes, argv, environment);
  });
}

int system(const char* command) {
  coz::interpose::DropUnreachablePreload();
  return g_real.system(command);
}

FILE* popen(const char* command, const char* type) {
  coz::interpose::DropUnreachablePreload();
  FILE* const stream = g_real.popen(command, type);
  if (stream != nullptr) coz::interpose::WrapStreamOfChild(stream);
  return stream;
}
COZ_SECOND_NAME(_IO_popen, popen);

}  // extern "C"
