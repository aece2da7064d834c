// The moments of Go's scheduler at which changed code calls the runtime.
//
// Shape    the argument of a stub's routine (coz/patch/code_patch.h, CallEdge)
// Units    none
// Errors   none
// Threads  a value
// Signals  a value
// Source   docs/design/goroutines.md; runtime/proc.go of Go
#ifndef COZ_BASE_GO_MOMENT_H_
#define COZ_BASE_GO_MOMENT_H_

#include <cstdint>

namespace coz {

// Where changed code is.
enum class GoMoment : uint32_t {
  kParks,   // the goroutine waits until another one, the clock or the outside makes it ready
  kYields,  // it is ready to go on
  kEnds,
  kReady,    // it is put into the queue of the thread's processor
  kExecute,  // the thread goes on with it
  kServes,   // it is a worker of the garbage collector, which parks
  kPolls,    // it parks until the descriptor is ready that its last call would have waited for
  kHalts,    // the thread is about to stop all others
  // From here on the code runs on the goroutine's own stack, which is small.
  kLocks,      // it has found a mutex taken
  kArrives,    // at a wait group, to whose counter it adds
  kMeets,      // it waits for a wait group
  kScavenges,  // it is the one that gives memory back, and parks
};

}  // namespace coz

#endif  // COZ_BASE_GO_MOMENT_H_
