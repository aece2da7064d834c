// Hooks of the profile's owner for wrapped calls that concern the whole process: exec, dlclose, and
// calls that close descriptors.
//
// Shape    one set of functions per process. coz/runtime sets it once. Until then nothing is
//          profiled and calls pass through
// Units    none
// Errors   none
// Threads  set before threads start
// Signals  async-signal-safe, except after_unload; usable in a child of vfork
// Source   none
#ifndef COZ_SYNC_INTERPOSE_PROCESS_HOOKS_H_
#define COZ_SYNC_INTERPOSE_PROCESS_HOOKS_H_

namespace coz::interpose {

struct ProcessHooks {
  // False in a child of vfork, even where it shares the memory of a process that is profiled.
  bool (*is_profiled)() = [] { return false; };
  // A program is about to start without the library, because it could not use it
  // (preload_environment.h).
  void (*note_unreachable_program)() = [] {};
  // The same, because its loader is not glibc's of this machine (coz/base/preload_needs.h).
  void (*note_foreign_program)() = [] {};
  // Before execve, and after one that has failed, in a profiled process.
  void (*prepare_for_exec)() = [] {};
  void (*resume_after_failed_exec)() = [] {};
  // Before and after dlclose, in a profiled process. after_unload must not be called in a handler.
  void (*before_unload)() = [] {};
  void (*after_unload)() = [] {};
  // The program wants to use this number for a descriptor of its own, and the profiler uses it.
  void (*make_way_for_descriptor)(int fd) = [](int) {};
};

extern ProcessHooks g_process_hooks __attribute__((visibility("hidden")));

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_PROCESS_HOOKS_H_
