// SIGTRAPs that are no samples: breakpoints of the supervisor that the kernel has lost track of,
// and the program's own.
//
// Shape    one handler for profiled processes, and one for unprofiled programs with breakpoints
// Units    none
// Errors   none
// Threads  safe
// Signals  OnForeignSignal runs in signal context; GuardBreakpoints is for the constructor
// Source   docs/design/points.md, docs/design/signals.md; coz/shared/process_slots.h
#ifndef COZ_RUNTIME_BREAKPOINT_GUARD_H_
#define COZ_RUNTIME_BREAKPOINT_GUARD_H_

#include <signal.h>

namespace coz::runtime {

// For a signal that the sampler did not raise. If it is a lost breakpoint of the supervisor, drops
// it, and the thread tries the instruction again. Otherwise the program gets it.
void OnForeignSignal(int signal, siginfo_t* info, void* context);

// Lets an unprofiled program survive breakpoints that count its visits.
void GuardBreakpoints();

}  // namespace coz::runtime

#endif  // COZ_RUNTIME_BREAKPOINT_GUARD_H_
