#include "coz/report/compare/file_match.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

constexpr size_t kUnclearShown = 3;

size_t PartsOf(const std::string& path) {
  return static_cast<size_t>(std::count(path.begin(), path.end(), '/')) + 1;
}

// The last `parts` of the path; "" where it has fewer.
std::string EndOf(const std::string& path, size_t parts) {
  size_t at = path.size();
  for (; parts > 0; --parts) {
    if (at == 0) return "";
    const size_t slash = path.rfind('/', at - 1);
    if (slash == std::string::npos) return parts == 1 ? path : "";
    at = slash;
  }
  return path.substr(at + 1);
}

// What stands before the end that both have in common: up to a '/', or "".
std::pair<std::string, std::string> LeadingFolders(const std::string& before,
                                                   const std::string& after) {
  size_t parts = 1;
  while (!EndOf(before, parts + 1).empty() && EndOf(before, parts + 1) == EndOf(after, parts + 1)) {
    ++parts;
  }
  const size_t end = EndOf(before, parts).size();
  return {before.substr(0, before.size() - end), after.substr(0, after.size() - end)};
}

std::string SomeOf(const std::vector<std::string>& paths) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < paths.size() && i < kUnclearShown; ++i) {
    shown.push_back(Printable(paths[i]));
  }
  if (paths.size() > kUnclearShown) shown.push_back("…");
  return absl::StrJoin(shown, ", ");
}

}  // namespace

FileMatch::FileMatch(const std::set<std::string>& before, const std::set<std::string>& after) {
  std::set_intersection(before.begin(), before.end(), after.begin(), after.end(),
                        std::inserter(stayed_, stayed_.end()));
  size_t parts = 1;
  for (const std::string& path : before) parts = std::max(parts, PartsOf(path));
  for (; parts > 0; --parts) {
    std::map<std::string, Candidates> by_end;
    for (const std::string& path : before) {
      if (stayed_.count(path) + after_of_.count(path) == 0) {
        by_end[EndOf(path, parts)].before.push_back(path);
      }
    }
    for (const std::string& path : after) {
      if (stayed_.count(path) + taken_.count(path) == 0) {
        by_end[EndOf(path, parts)].after.push_back(path);
      }
    }
    by_end.erase("");
    for (const auto& [end, candidates] : by_end) Match(candidates);
  }
}

void FileMatch::Match(const Candidates& candidates) {
  if (candidates.before.empty() || candidates.after.empty()) return;
  const std::string& before = candidates.before.front();
  const std::string& after = candidates.after.front();
  if (!MayBeOne(before, after)) return;
  if (candidates.before.size() == 1 && candidates.after.size() == 1) {
    after_of_[before] = after;
    taken_.insert(after);
  } else if (unclear_.before.empty()) {
    unclear_ = candidates;
  }
}

bool FileMatch::MayBeOne(const std::string& before, const std::string& after) const {
  const auto [folder_before, folder_after] = LeadingFolders(before, after);
  return !HasStayed(folder_before) && !HasStayed(folder_after);
}

bool FileMatch::HasStayed(const std::string& folder) const {
  if (folder.empty()) {
    return std::any_of(stayed_.begin(), stayed_.end(),
                       [](const std::string& path) { return !absl::StartsWith(path, "/"); });
  }
  const auto found = stayed_.lower_bound(folder);
  return found != stayed_.end() && absl::StartsWith(*found, folder);
}

const std::string& FileMatch::AfterOf(const std::string& before) const {
  const auto found = after_of_.find(before);
  return found == after_of_.end() ? before : found->second;
}

std::string FileMatch::WhyUnclear() const {
  if (unclear_.before.empty()) return "";
  return absl::StrCat("which of ", SomeOf(unclear_.before), " of the first profile is which of ",
                      SomeOf(unclear_.after),
                      " of the second is not clear, so their lines are not compared; build both "
                      "programs in the same folder, or with -ffile-prefix-map");
}

}  // namespace coz::report
