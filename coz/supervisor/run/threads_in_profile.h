// Threads of the target as records of a profile.
//
// Shape    adds to a profile
// Units    ns since `start_ns`, which is of CLOCK_MONOTONIC
// Errors   none
// Threads  safe
// Signals  none
// Source   coz/report/format/profile.proto
#ifndef COZ_SUPERVISOR_RUN_THREADS_IN_PROFILE_H_
#define COZ_SUPERVISOR_RUN_THREADS_IN_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "coz/report/format/profile.pb.h"
#include "coz/supervisor/target/thread_watch.h"

namespace coz::supervisor {

// `counters`: the places that `visits` are of; those without a name are left out.
void AddThreads(const std::vector<ThreadUse>& threads, const std::vector<ThreadCounter>& counters,
                uint64_t session, uint64_t start_ns, profile::Profile* profile);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_RUN_THREADS_IN_PROFILE_H_
