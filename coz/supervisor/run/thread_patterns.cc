#include "coz/supervisor/run/thread_patterns.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/shared/thread_scope.h"

namespace coz::supervisor {
namespace {

constexpr size_t kMostLetters = shared::kThreadNameBytes - 1;
constexpr size_t kNamesSaid = 8;

}  // namespace

absl::Status CheckThreadPatterns(const std::vector<std::string>& patterns) {
  if (patterns.size() > shared::kMaxThreadPatterns) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--thread was given %d times, and %d patterns have room; put some together by a wildcard: "
        "--thread 'worker*'",
        patterns.size(), shared::kMaxThreadPatterns));
  }
  for (const std::string& pattern : patterns) {
    if (pattern.empty()) {
      return absl::InvalidArgumentError(
          "--thread names no thread; write for example --thread 'worker*', or leave it out to "
          "experiment on all threads");
    }
    const bool has_wildcard = pattern.find_first_of("*%") != std::string::npos;
    const bool fits = has_wildcard ? pattern.size() < shared::kThreadPatternBytes
                                   : pattern.size() <= kMostLetters;
    if (fits) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "--thread='%s' matches no thread, as the kernel keeps %d letters of a name; write "
        "--thread='%s*'",
        pattern, kMostLetters, pattern.substr(0, kMostLetters)));
  }
  return absl::OkStatus();
}

std::vector<std::string> ThreadsNeverSeen(const std::vector<std::string>& patterns,
                                          const std::vector<ThreadUse>& threads) {
  std::set<std::string> names;
  for (const ThreadUse& thread : threads) names.insert(thread.name);
  names.erase("");
  std::vector<std::string> shown(names.begin(), names.end());
  if (shown.size() > kNamesSaid) {
    shown.resize(kNamesSaid);
    shown.emplace_back("...");
  }
  std::vector<std::string> missing;
  for (const std::string& pattern : patterns) {
    const bool is_seen = std::any_of(names.begin(), names.end(), [&pattern](const auto& name) {
      return shared::MatchesThreadName(pattern.c_str(), name.c_str());
    });
    if (is_seen) continue;
    missing.push_back(absl::StrFormat(
        "--thread=%s matched no thread; the threads were named %s, as `coz report --threads` shows",
        pattern, shown.empty() ? "nothing" : absl::StrJoin(shown, ", ")));
  }
  return missing;
}

}  // namespace coz::supervisor
