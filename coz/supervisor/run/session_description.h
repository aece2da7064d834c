// What a profile says of its run: the command, the machine, how it was sampled, and the options it
// was made with.
//
// Shape    one Session message
// Units    in the names
// Errors   what the machine does not tell stays empty
// Threads  safe
// Signals  not async-signal-safe
// Source   coz/report/format/profile.proto
#ifndef COZ_TOOLS_SUPERVISOR_SESSION_DESCRIPTION_H_
#define COZ_TOOLS_SUPERVISOR_SESSION_DESCRIPTION_H_

#include <string>
#include <vector>

#include "coz/experiment/scheduler.h"
#include "coz/report/format/profile.pb.h"
#include "coz/sampler/sampler_status.h"
#include "coz/supervisor/run/run_profile.h"

namespace coz::supervisor {

// What the user asked for.
profile::Options AskedOptions(const RunOptions& options, const Series& series);

// Complete but for its id.
profile::Session DescribeSession(const RunOptions& options, const Series& series,
                                 const experiment::SchedulerOptions& scheduler,
                                 const sampler::SamplerStatus& sampler, int cpus, double cpu_quota);

// The patterns of the binaries in scope: the user's, or the default.
std::vector<std::string> BinaryScopeOf(const RunOptions& options);

}  // namespace coz::supervisor

#endif  // COZ_TOOLS_SUPERVISOR_SESSION_DESCRIPTION_H_
