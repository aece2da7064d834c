// Start and end of processes. Process: target. Context: the program's threads, and children of vfork that have borrowed one.
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

#include "coz/sync/process_end.h"
#include "coz/sync/thread_sync.h"
#include "coz/sync/wrapped_calls.h"

using coz::g_real;

extern "C" {

// The new program starts level, so its creator has to be.
int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const argv[],
                char* const envp[]) noexcept {
  coz::PayIfBehind();
  return g_real.posix_spawn(pid, path, actions, attributes, argv, envp);
}

int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const argv[],
                 char* const envp[]) noexcept {
  coz::PayIfBehind();
  return g_real.posix_spawnp(pid, file, actions, attributes, argv, envp);
}

// exit() pays by a handler that the runtime has registered.
void _exit(int status) {
  coz::PayBeforeProcessEnds();
  g_real._exit(status);
  __builtin_unreachable();
}

void _Exit(int status) noexcept {
  coz::PayBeforeProcessEnds();
  g_real._Exit(status);
  __builtin_unreachable();
}

void quick_exit(int status) noexcept {
  coz::PayBeforeProcessEnds();
  g_real.quick_exit(status);
  __builtin_unreachable();
}

}  // extern "C"
