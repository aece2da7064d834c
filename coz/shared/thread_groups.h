// Groups of threads, by their names, that split each unit of experiments into one for each group.
//
// Shape    patterns, each of a group. Groups are numbered from 0; behind the last one is that of
//          all other threads
// Units    bytes of a name, at most 15, as the kernel keeps it
// Errors   none
// Threads  the supervisor writes it before the target starts
// Signals  async-signal-safe
// Source   docs/threads.md
#ifndef COZ_SHARED_THREAD_GROUPS_H_
#define COZ_SHARED_THREAD_GROUPS_H_

#include <cstdint>

#include "coz/shared/thread_scope.h"

namespace coz::shared {

struct ThreadGroups {
  uint32_t groups_used;  // 0: units are not split
  uint32_t patterns_used;
  uint32_t group_of_pattern[kMaxThreadPatterns];
  char patterns[kMaxThreadPatterns][kThreadPatternBytes];
};

// That of the first pattern that matches the whole name.
inline uint32_t ThreadGroupOf(const ThreadGroups& groups, const char* name) {
  for (uint32_t i = 0; i < groups.patterns_used && i < kMaxThreadPatterns; ++i) {
    if (MatchesThreadName(groups.patterns[i], name)) return groups.group_of_pattern[i];
  }
  return groups.groups_used;
}

}  // namespace coz::shared

#endif  // COZ_SHARED_THREAD_GROUPS_H_
