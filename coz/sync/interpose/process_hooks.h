// What wrapped calls that concern the whole process (exec, dlclose, calls that close descriptors)
// ask of the owner of the profile.
//
// Shape    one set of functions per process, set once by coz/runtime; until then nothing is
//          profiled and calls pass through
// Units    none
// Errors   none
// Threads  set before threads start
// Signals  async-signal-safe, but for after_unload; fit for a child of vfork
// Source   none
#ifndef COZ_SYNC_INTERPOSE_PROCESS_HOOKS_H_
#define COZ_SYNC_INTERPOSE_PROCESS_HOOKS_H_

namespace coz::interpose {

struct ProcessHooks {
  // False in a child of vfork, even where it shares the memory of a process that is profiled.
  bool (*is_profiled)() = [] { return false; };
  // A program is started without the library, as it could not use it (preload_environment.h).
  void (*note_unreachable_program)() = [] {};
  // Around execve, in a profiled process.
  void (*prepare_for_exec)() = [] {};
  void (*resume_after_failed_exec)() = [] {};
  // Around dlclose, in a profiled process. after_unload is not for handlers.
  void (*before_unload)() = [] {};
  void (*after_unload)() = [] {};
  // The program wants this number for a descriptor of its own, and the profiler has it.
  void (*make_way_for_descriptor)(int fd) = [](int) {};
};

extern ProcessHooks g_process_hooks __attribute__((visibility("hidden")));

}  // namespace coz::interpose

#endif  // COZ_SYNC_INTERPOSE_PROCESS_HOOKS_H_
