// What coz says of functions whose calls a process refused to count or to time: one sentence for
// each library and reason, however many functions there are.
//
// Shape    "calls of libz.so!inflate are not timed in all processes, for WHY", or with three names
//          of many: "calls of 5 functions of libz.so are …, for WHY: a, b, c and 2 more"
// Units    none
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_SUPERVISOR_POINTS_REFUSED_CALLS_H_
#define COZ_SUPERVISOR_POINTS_REFUSED_CALLS_H_

#include <set>
#include <string>
#include <vector>

namespace coz::supervisor {

// Why no code is changed in a library that blocks SIGTRAP inside.
inline constexpr char kBlocksInside[] = "its library blocks SIGTRAP inside, and threads run";

struct RefusedCalls {
  std::string function;     // "libz.so!inflate", or of the program: "Serve"
  bool only_times = false;  // its calls are counted
  std::string why;
};

std::vector<std::string> DescribeRefusedCalls(const std::vector<RefusedCalls>& refused);

// "a, b, c and 2 more"
std::string SomeNames(const std::set<std::string>& names);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_POINTS_REFUSED_CALLS_H_
