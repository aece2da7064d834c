// SIGTRAPs that are no samples: breakpoints of the supervisor that the kernel has lost track of,
// and the program's own.
//
// Shape    one handler for processes that are profiled, and one installed where breakpoints are set
//          in a program that is not
// Units    none
// Errors   none
// Threads  safe
// Signals  OnForeignSignal runs in signal context; GuardBreakpoints is for the constructor
// Source   docs/design/points.md, docs/design/signals.md; coz/shared/process_slots.h
#ifndef COZ_RUNTIME_BREAKPOINT_GUARD_H_
#define COZ_RUNTIME_BREAKPOINT_GUARD_H_

#include <signal.h>

namespace coz::runtime {

// For a signal that the sampler did not raise: drops it if a breakpoint of the supervisor has, so
// that the instruction is tried again; else the program gets it.
void OnForeignSignal(int signal, siginfo_t* info, void* context);

// Lets a program that is not profiled survive breakpoints by which somebody counts its visits.
void GuardBreakpoints();

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_BREAKPOINT_GUARD_H_
