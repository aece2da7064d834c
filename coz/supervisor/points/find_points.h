// Finds functions of a program that would do as progress points: runs it or attaches to it, samples
// it from outside, and counts calls.
//
// Changed code counts all functions at a time that allow it. Breakpoints count the others, four at
// a time, in turns all over the run; of a program that runs already they are left out.
//
// Shape    one call for one run
// Units    ns
// Errors   before the program starts: as RunProfile, CheckBreakpoints and PointCandidates; of one
//          that runs, as AttachedTree. Once the program runs, nothing ends it but itself, or `stop`
// Threads  one call at a time: it takes over the process's signals
// Signals  none
// Source   docs/progress-points.md, "Which place?"
#ifndef COZ_TOOLS_SUPERVISOR_FIND_POINTS_H_
#define COZ_TOOLS_SUPERVISOR_FIND_POINTS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/supervisor/points/point_candidates.h"
#include "coz/supervisor/target/child_process.h"

namespace coz::supervisor {

struct FindPointsOptions {
  std::vector<std::string> command;
  pid_t attach_pid = 0;      // not 0: of this process, instead of a command
  bool attach_tree = false;  // and of those that descend from it and run the same program
  // Path of libcoz.so. Empty: the program is not guarded against lost breakpoints, and its code is
  // not changed.
  std::string runtime_library;
  bool changes_code = true;
  uint64_t duration_ns = 0;
  // End the program after that; else it runs to its end. Not of one that ran before.
  bool stop = false;
  // Told at once: what cannot be looked at, or is left in a process that ran before.
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

// What was found in the time, or until the program ended; or why counting was not possible.
struct FindPointsOutcome {
  absl::StatusOr<FoundPoints> found;
  uint64_t elapsed_ns;
  bool program_runs;    // of a process that ran before: and coz has left it
  size_t children = 0;  // of a process that ran before, which were not looked at: of its program
};

// `report` is called once, as soon as the answer is known; the program may run on. Returns how it
// ended, but for one that ran before.
absl::StatusOr<ExitState> FindPoints(const FindPointsOptions& options,
                                     const std::function<void(const FindPointsOutcome&)>& report);

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_FIND_POINTS_H_
