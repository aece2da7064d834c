// Keeps lost breakpoints from ending the calling process (coz/base/lost_breakpoint.h). SIGTRAP ends
// a program that does not expect it. About one visit in 5,000 was seen to be lost.
//
// Shape    a guard; the process goes on at the same instruction. Profiled programs use the
//          runtime's guard instead
// Units    visits
// Errors   none
// Threads  one guard at a time; it guards all threads
// Signals  takes SIGTRAP while it lives; other SIGTRAPs end the process as without it
// Source   docs/design/points.md, "Visits beside samples"
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
