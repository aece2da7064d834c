// Breakpoints whose reason is lost. Some hypervisors forget, when an interrupt comes at the same moment, what a debug exception was for
// (DR6 reads as 0); the kernel then takes it for the program's own trap, does not count it, and sends SIGTRAP, which ends a program
// that does not expect it. Seen once in some 5,000 visits.
//
// Shape    a guard for the calling process, which goes on at the same instruction; profiled programs have the runtime's
// Units    visits
// Errors   none
// Threads  one guard at a time; it guards all threads
// Signals  takes SIGTRAP while it lives; other SIGTRAPs end the process as without it
// Source   Intel SDM volume 3, 18.2.3 (DR6); arch/x86/kernel/traps.c, exc_debug_user: `icebp = !dr6`
#ifndef COZ_POINTS_LOST_BREAKPOINTS_H_
#define COZ_POINTS_LOST_BREAKPOINTS_H_

#include <signal.h>

#include <cstdint>

namespace coz::points {

class LostBreakpointGuard {
 public:
  LostBreakpointGuard();
  ~LostBreakpointGuard();
  LostBreakpointGuard(const LostBreakpointGuard&) = delete;
  LostBreakpointGuard& operator=(const LostBreakpointGuard&) = delete;

  static uint64_t lost();  // since the process began

 private:
  struct sigaction before_;
};

}  // namespace coz::points

#endif  // COZ_POINTS_LOST_BREAKPOINTS_H_
