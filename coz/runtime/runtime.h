// The preload runtime: attaches the process to the supervisor's control block, and joins sampler,
// line tables and delays.
//
// Shape    one per process, set up by the library's constructor (attach.cc) and again in children
//          of fork (fork.cc); it does nothing in a process that is not profiled
// Units    as in control_block.h
// Errors   whatever fails leaves the program unprofiled, with one line on standard error
// Threads  safe
// Signals  all functions are async-signal-safe
// Source   docs/design/processes.md
#ifndef COZ_RUNTIME_RUNTIME_H_
#define COZ_RUNTIME_RUNTIME_H_

namespace coz::runtime {

// False in a child of vfork, even where it shares the memory of a process that is profiled.
bool IsProfiledProcess();

// The process was profiled, but has since restricted its own system calls, so that one of ours
// might end it. Programs that it executes or starts inherit that.
bool HasLeftProfile();

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_RUNTIME_H_
