// Checks the patterns of --thread, before and after the run.
//
// Shape    functions
// Units    bytes of names
// Errors   CheckThreadPatterns: INVALID_ARGUMENT, one sentence
// Threads  safe
// Signals  none
// Source   coz/shared/thread_scope.h
#ifndef COZ_SUPERVISOR_RUN_THREAD_PATTERNS_H_
#define COZ_SUPERVISOR_RUN_THREAD_PATTERNS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coz/supervisor/target/thread_watch.h"

namespace coz::supervisor {

absl::Status CheckThreadPatterns(const std::vector<std::string>& patterns);

// A sentence for each pattern that no thread's name has matched, with the names that there were.
std::vector<std::string> ThreadsNeverSeen(const std::vector<std::string>& patterns,
                                          const std::vector<ThreadUse>& threads);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_RUN_THREAD_PATTERNS_H_
