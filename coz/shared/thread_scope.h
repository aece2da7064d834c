// Which threads count for experiments, by their names.
//
// Shape    patterns, of which one has to match the whole name; none: every thread counts
// Units    bytes of a name, at most 15, as the kernel keeps it
// Errors   none
// Threads  the supervisor writes it before the target starts
// Signals  async-signal-safe
// Source   prctl(2), PR_SET_NAME; docs/threads.md
#ifndef COZ_SHARED_THREAD_SCOPE_H_
#define COZ_SHARED_THREAD_SCOPE_H_

#include <cstddef>
#include <cstdint>

namespace coz::shared {

inline constexpr uint32_t kMaxThreadPatterns = 16;
inline constexpr size_t kThreadPatternBytes = 64;
// With the NUL at its end.
inline constexpr size_t kThreadNameBytes = 16;

struct ThreadScope {
  uint32_t patterns_used;
  char patterns[kMaxThreadPatterns][kThreadPatternBytes];
};

// `*` and `%` stand for any characters, `?` for any one.
inline bool MatchesThreadName(const char* pattern, const char* name) {
  const char* after_star = nullptr;  // where the pattern goes on behind its last star
  const char* taken = nullptr;       // what that star has not taken yet
  while (*name != '\0') {
    if (*pattern == '*' || *pattern == '%') {
      after_star = ++pattern;
      taken = name;
    } else if (*pattern == '?' || *pattern == *name) {
      ++pattern;
      ++name;
    } else if (after_star != nullptr) {
      pattern = after_star;
      name = ++taken;
    } else {
      return false;
    }
  }
  while (*pattern == '*' || *pattern == '%') ++pattern;
  return *pattern == '\0';
}

inline bool IsInThreadScope(const ThreadScope& scope, const char* name) {
  if (scope.patterns_used == 0) return true;
  for (uint32_t i = 0; i < scope.patterns_used && i < kMaxThreadPatterns; ++i) {
    if (MatchesThreadName(scope.patterns[i], name)) return true;
  }
  return false;
}

}  // namespace coz::shared

#endif  // COZ_SHARED_THREAD_SCOPE_H_
