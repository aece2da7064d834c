#include "coz/supervisor/run/thread_patterns.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/shared/thread_scope.h"
#include "coz/supervisor/units/unit_index.h"

namespace coz::supervisor {
namespace {

constexpr size_t kMostLetters = shared::kThreadNameBytes - 1;
constexpr size_t kNamesSaid = 8;

// Whether the name of a thread may match it.
bool Fits(const std::string& pattern) {
  const bool has_wildcard = pattern.find_first_of("*%") != std::string::npos;
  return has_wildcard ? pattern.size() < shared::kThreadPatternBytes
                      : pattern.size() <= kMostLetters;
}

absl::Status CheckThreadGroup(const std::string& text, const std::string& name,
                              const std::string& pattern) {
  if (name.empty() || pattern.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--thread-group '%s' lacks a name or a pattern; write for example --thread-group "
        "io='io-*', or --thread-group 'worker*'",
        text));
  }
  if (name == kOtherThreads || name.find_first_of("@<") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--thread-group '%s' cannot be named so: '%s' are the threads in no group, and a name has "
        "no '@' and no '<'; write --thread-group NAME='%s' with another name",
        text, kOtherThreads, pattern));
  }
  if (Fits(pattern)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "--thread-group '%s' matches no thread, as the kernel keeps %d letters of a name; write "
      "--thread-group '%s=%s*'",
      text, kMostLetters, name.substr(0, kMostLetters), pattern.substr(0, kMostLetters)));
}

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
    if (Fits(pattern)) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "--thread='%s' matches no thread, as the kernel keeps %d letters of a name; write "
        "--thread='%s*'",
        pattern, kMostLetters, pattern.substr(0, kMostLetters)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ThreadGroup>> ParseThreadGroups(const std::vector<std::string>& texts) {
  if (texts.size() > shared::kMaxThreadPatterns) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--thread-group was given %d times, and %d patterns have room; put some together by a "
        "wildcard: --thread-group io='io-*'",
        texts.size(), shared::kMaxThreadPatterns));
  }
  std::vector<ThreadGroup> groups;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const std::string pattern = equals == std::string::npos ? text : text.substr(equals + 1);
    if (absl::Status status = CheckThreadGroup(text, name, pattern); !status.ok()) return status;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&name](const ThreadGroup& known) { return known.name == name; });
    if (group == groups.end()) group = groups.insert(group, {name, {}});
    group->patterns.push_back(pattern);
  }
  return groups;
}

std::vector<std::string> NamesOf(const std::vector<ThreadGroup>& groups) {
  std::vector<std::string> names;
  names.reserve(groups.size());
  for (const ThreadGroup& group : groups) names.push_back(group.name);
  return names;
}

void FillThreadGroups(const std::vector<ThreadGroup>& groups, shared::ThreadGroups* shared) {
  for (const ThreadGroup& group : groups) {
    for (const std::string& pattern : group.patterns) {
      const uint32_t at = shared->patterns_used++;
      shared->group_of_pattern[at] = shared->groups_used;
      absl::SNPrintF(shared->patterns[at], shared::kThreadPatternBytes, "%s", pattern);
    }
    ++shared->groups_used;
  }
}

std::vector<std::string> GroupsNeverSeen(const std::vector<ThreadGroup>& groups,
                                         const std::vector<ThreadUse>& threads) {
  std::vector<std::string> missing;
  for (const ThreadGroup& group : groups) {
    for (std::string& one : ThreadsNeverSeen("--thread-group", group.patterns, threads)) {
      missing.push_back(std::move(one));
    }
  }
  return missing;
}

std::vector<std::string> ThreadsNeverSeen(std::string_view option,
                                          const std::vector<std::string>& patterns,
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
        "%s=%s matched no thread; the threads were named %s, as `coz report --threads` shows",
        option, pattern, shown.empty() ? "nothing" : absl::StrJoin(shown, ", ")));
  }
  return missing;
}

}  // namespace coz::supervisor
