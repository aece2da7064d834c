// Which programs the last session ran: the one that coz started may only start others (mpirun,
// timeout, make, a shell), or fail before it has started any.
//
// Shape    names of files, without their folders
// Units    none
// Errors   none; what a profile does not tell is empty or false
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_REPORT_ANALYSIS_PROGRAMS_RUN_H_
#define COZ_REPORT_ANALYSIS_PROGRAMS_RUN_H_

#include <string>

#include "coz/report/format/profile.pb.h"

namespace coz::report {

struct ProgramsRun {
  std::string started;      // as it was typed
  std::string worker;       // the other program with the most CPU time, if that is more; or empty
  bool others_ran = false;  // some other program
};

ProgramsRun FindProgramsRun(const profile::Profile& profile);

// Whether the program is said to start another one, which matters: --follow=all or --follow=exec.
bool IsLauncher(const profile::Session& session);

// Whether the started program failed before anything could be measured: within the time of one
// experiment, or, where it is said to start another program, before such a one did any work.
bool FailedEarly(const profile::Profile& profile);

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_PROGRAMS_RUN_H_
