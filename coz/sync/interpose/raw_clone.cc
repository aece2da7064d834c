// Wraps no calls itself; futex.cc and clone.cc use it. Process: target. Context: the program's
// threads.
#include "coz/sync/interpose/raw_clone.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>

#include <cstdint>

#include "coz/base/errno_saver.h"
#include "coz/base/readable.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

using sync_internal::g_hooks;

struct CloneArguments {
  uint64_t flags = 0;
  bool has_stack = false;
  bool readable = true;
};

CloneArguments ArgumentsOf(long number, long a, long b) {
  switch (number) {
    case SYS_clone:
      return {static_cast<uint64_t>(a), b != 0, true};
    case SYS_clone3: {
      const auto* given = reinterpret_cast<const clone_args*>(a);
      // The kernel refuses a bad address.
      if (!IsReadable(reinterpret_cast<uintptr_t>(&given->flags)) ||
          !IsReadable(reinterpret_cast<uintptr_t>(&given->stack))) {
        return {0, false, false};
      }
      return {given->flags, given->stack != 0, true};
    }
    default:
      return {};
  }
}

}  // namespace

bool CopiesProcess(long number, long a, long b) {
  const CloneArguments arguments = ArgumentsOf(number, a, b);
  if (!arguments.readable) return false;
  if ((arguments.flags & CLONE_THREAD) != 0) {
    if (g_hooks.raw_thread != nullptr) g_hooks.raw_thread();
    return false;
  }
  constexpr uint64_t kShared = CLONE_VM | CLONE_FILES | CLONE_SIGHAND | CLONE_VFORK;
  if ((arguments.flags & kShared) == 0 && !arguments.has_stack) return true;
  // A child of vfork is followed when it becomes another program.
  const bool like_vfork = (arguments.flags & CLONE_VFORK) != 0;
  if (!like_vfork && g_hooks.unfollowed != nullptr) g_hooks.unfollowed();
  return false;
}

void BeforeRawFork() {
  const ErrnoSaver errno_saver;
  if (g_hooks.fork != nullptr) g_hooks.fork();
}

void AfterRawFork(long child) {
  if (child != 0) return;
  const ErrnoSaver errno_saver;
  if (g_hooks.forked != nullptr) g_hooks.forked();
}

}  // namespace coz::interpose
