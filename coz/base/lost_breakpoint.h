// Recognizes hardware breakpoints whose reason is lost. Some hypervisors forget what a debug
// exception was for (DR6 reads as 0) when an interrupt comes at the same moment. The kernel then
// takes it for the program's own trap, does not count it, and sends SIGTRAP.
//
// Shape    one rule for every handler of SIGTRAP. A handler that returns after such a signal lets
//          the thread try the same instruction again
// Units    none
// Errors   none
// Threads  safe
// Signals  async-signal-safe; for the handler of the signal alone, as it reads the instruction
// Source   Intel SDM volume 3, 18.2.3 (DR6); arch/x86/kernel/traps.c, exc_debug_user:
//          `icebp = !dr6`
#ifndef COZ_BASE_LOST_BREAKPOINT_H_
#define COZ_BASE_LOST_BREAKPOINT_H_

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace coz {

// Where the thread was interrupted.
uint64_t InterruptedIp(const ucontext_t& context);

// Whether the SIGTRAP may be a lost breakpoint. It looks like a program's own `int1`, but is at
// none. A caller that knows where breakpoints are asks first whether one is at InterruptedIp.
bool IsLostBreakpoint(const siginfo_t& info, const ucontext_t& context);

}  // namespace coz

#endif  // COZ_BASE_LOST_BREAKPOINT_H_
