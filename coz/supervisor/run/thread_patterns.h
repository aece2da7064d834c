// Reads and checks the patterns of --thread and --thread-group, before and after the run.
//
// Shape    functions
// Units    bytes of names
// Errors   CheckThreadPatterns, ParseThreadGroups: INVALID_ARGUMENT, one sentence
// Threads  safe
// Signals  none
// Source   coz/shared/thread_scope.h
#ifndef COZ_SUPERVISOR_RUN_THREAD_PATTERNS_H_
#define COZ_SUPERVISOR_RUN_THREAD_PATTERNS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/shared/thread_groups.h"
#include "coz/supervisor/target/thread_watch.h"

namespace coz::supervisor {

absl::Status CheckThreadPatterns(const std::vector<std::string>& patterns);

struct ThreadGroup {
  std::string name;
  std::vector<std::string> patterns;
};

// Of texts "NAME=PATTERN"; a pattern alone is a group of its own name. A name that comes again adds
// a pattern.
absl::StatusOr<std::vector<ThreadGroup>> ParseThreadGroups(const std::vector<std::string>& texts);

std::vector<std::string> NamesOf(const std::vector<ThreadGroup>& groups);

void FillThreadGroups(const std::vector<ThreadGroup>& groups, shared::ThreadGroups* shared);

// A sentence for each pattern that no thread's name has matched, with the names that there were.
std::vector<std::string> ThreadsNeverSeen(std::string_view option,
                                          const std::vector<std::string>& patterns,
                                          const std::vector<ThreadUse>& threads);
std::vector<std::string> GroupsNeverSeen(const std::vector<ThreadGroup>& groups,
                                         const std::vector<ThreadUse>& threads);

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_RUN_THREAD_PATTERNS_H_
