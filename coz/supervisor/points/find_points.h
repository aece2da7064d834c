// Finds functions of a program that would do as progress points: runs it, samples it from outside,
// and counts calls in turns.
//
// Changed code counts all functions at a time that allow it. Breakpoints count the others, four at
// a time, in turns all over the run.
//
// Shape    one call for one run
// Units    ns
// Errors   before the program starts: as RunProfile, CheckBreakpoints and PointCandidates. Once the
//          program runs, nothing ends it but itself (or `stop`)
// Threads  one call at a time: it takes over the process's signals
// Signals  none
// Source   docs/progress-points.md, "Which place?"
#ifndef COZ_TOOLS_SUPERVISOR_FIND_POINTS_H_
#define COZ_TOOLS_SUPERVISOR_FIND_POINTS_H_

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
  // Path of libcoz.so. Empty: the program is not guarded against lost breakpoints, and its code is
  // not changed.
  std::string runtime_library;
  bool changes_code = true;
  uint64_t duration_ns = 0;
  bool stop = false;  // end the program after that; else it runs to its end
};

// What was found in the time, or until the program ended; or why counting was not possible.
struct FindPointsOutcome {
  absl::StatusOr<FoundPoints> found;
  uint64_t elapsed_ns;
  bool program_runs;
};

// `report` is called once, as soon as the answer is known; the program may run on. Returns how it
// ended.
absl::StatusOr<ExitState> FindPoints(const FindPointsOptions& options,
                                     const std::function<void(const FindPointsOutcome&)>& report);

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_FIND_POINTS_H_
