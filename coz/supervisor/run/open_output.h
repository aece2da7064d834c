// Opens the profile that a run writes.
//
// Shape    an existing profile is kept by number, unless it is to be added to
// Units    none
// Errors   as KeepEarlier and ProfileWriter::Open; FAILED_PRECONDITION: the run would measure
//          something else than the profile that it is added to, or another build
// Threads  safe
// Signals  none
// Source   coz/report/wording/repeat_command.h, MeasuredOptions
#ifndef COZ_TOOLS_SUPERVISOR_OPEN_OUTPUT_H_
#define COZ_TOOLS_SUPERVISOR_OPEN_OUTPUT_H_

#include <string>

#include "absl/status/statusor.h"
#include "coz/report/format/profile_writer.h"
#include "coz/supervisor/run/earlier_profiles.h"
#include "coz/supervisor/run/run_profile.h"

namespace coz::supervisor {

struct OpenedOutput {
  report::ProfileWriter writer;
  EarlierProfiles earlier;
};

// `program`: the path of what is profiled.
absl::StatusOr<OpenedOutput> OpenOutput(const RunOptions& options, const std::string& program,
                                        const Series& series);

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_OPEN_OUTPUT_H_
