// The preload runtime: attaches the process to the supervisor's control block and wires sampler, line tables and delays.
//
// Shape    one per process, set up by the library's constructor; inert where the process is not the target
// Units    as in control_block.h
// Errors   whatever fails leaves the program unprofiled, with one line on standard error
// Threads  safe
// Signals  IsProfiledProcess is async-signal-safe
// Source   docs/design.md, "The runtime"
#ifndef COZ_RUNTIME_RUNTIME_H_
#define COZ_RUNTIME_RUNTIME_H_

namespace coz {

// True in the target, not in its children, even before they have become other programs.
bool IsProfiledProcess();

}  // namespace coz

#endif  // COZ_RUNTIME_RUNTIME_H_
