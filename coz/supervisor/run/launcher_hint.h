// Where the program that coz is to start cannot be profiled: whether it may be a launcher (mpirun,
// timeout, env, a shell) of one that can.
//
// Shape    an error in, an error out; the words of the command are looked at, none is run
// Units    none
// Errors   of the status that is passed on
// Threads  safe
// Signals  none
// Source   docs/running.md, "MPI"
#ifndef COZ_SUPERVISOR_RUN_LAUNCHER_HINT_H_
#define COZ_SUPERVISOR_RUN_LAUNCHER_HINT_H_

#include "absl/status/status.h"
#include "coz/supervisor/run/run_profile.h"

namespace coz::supervisor {

// An error that says what the started program lacks. Where a word of its arguments names a program,
// the error ends with the command that profiles that; else it is as it was.
absl::Status WithCommandForWorker(absl::Status status, const RunOptions& options,
                                  const Series& series);

// The same of an error that the started program lacks a progress point, where that program has all
// that were named.
absl::Status WithCommandForPoints(absl::Status status, const RunOptions& options,
                                  const Series& series);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_RUN_LAUNCHER_HINT_H_
