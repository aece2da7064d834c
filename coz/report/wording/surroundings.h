// What disturbed the program while it was profiled, and what to do about it: other programs, a CPU
// quota, a virtual machine, real-time threads.
//
// Shape    a sentence, without a full stop, for each disturbance that is large enough to matter
// Units    shares of CPU time; CPUs
// Errors   none; older profiles do not tell
// Threads  compatible
// Signals  not async-signal-safe
// Source   docs/interpreting.md, "Notes and what to do"
#ifndef COZ_REPORT_WORDING_SURROUNDINGS_H_
#define COZ_REPORT_WORDING_SURROUNDINGS_H_

#include <string>
#include <vector>

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/wording/baseline_use.h"

namespace coz::report {

// Whether other programs take so much of the program's CPUs that it waits for them.
bool OthersCrowd(const BaselineUse& use);

// Whether they do so more than in another profile, by so much as is worth a note by itself.
bool OthersCrowdMore(const BaselineUse& use, const BaselineUse& than);

std::vector<std::string> NotesOfSurroundings(const profile::Profile& profile,
                                             const ExperimentTable& table, const BaselineUse& use);

}  // namespace coz::report

#endif  // COZ_REPORT_WORDING_SURROUNDINGS_H_
