#include "coz/points/closest_names.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace coz::points {
namespace {

constexpr size_t kAnswers = 3;
constexpr size_t kMaxCompared = 200;
// Names of other files rank behind any line of the wanted one.
constexpr int64_t kOtherFile = int64_t{1} << 40;

std::string_view LastPart(std::string_view name) {
  const size_t scope = name.rfind("::");
  if (scope != std::string_view::npos) name.remove_prefix(scope + 2);
  const size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  return name;
}

bool HasOnePart(std::string_view name) { return LastPart(name).size() == name.size(); }

bool EndsWithFile(std::string_view path, std::string_view file) {
  return path.size() >= file.size() && path.substr(path.size() - file.size()) == file &&
         (path.size() == file.size() || file.front() == '/' ||
          path[path.size() - file.size() - 1] == '/');
}

// "libevent" of "libevent-2.1.so.7" and of "/usr/lib/libevent*".
std::string_view WithoutVersion(std::string_view library) {
  library = LastPart(library);
  library = library.substr(0, library.find(".so"));
  const size_t last = library.find_last_not_of("-_.*?%0123456789");
  return library.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

int EditDistance(std::string_view a, std::string_view b, int limit) {
  a = a.substr(0, kMaxCompared);
  b = b.substr(0, kMaxCompared);
  if (std::abs(static_cast<int>(a.size()) - static_cast<int>(b.size())) > limit) return limit + 1;
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    int least = row[0];
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool equal = absl::ascii_tolower(a[i - 1]) == absl::ascii_tolower(b[j - 1]);
      const int changed = diagonal + (equal ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
      least = std::min(least, row[j]);
    }
    if (least > limit) return limit + 1;
  }
  return std::min(row[b.size()], limit + 1);
}

ClosestNames::ClosestNames(std::string_view wanted) : wanted_(wanted) {
  const size_t colon = wanted.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || wanted[colon - 1] == ':') return;
  const std::string_view number = wanted.substr(colon + 1);
  std::from_chars(number.data(), number.data() + number.size(), wanted_line_);
  if (wanted_line_ != 0) wanted_file_ = wanted.substr(0, colon);
}

void ClosestNames::Offer(int64_t distance, std::string_view name) {
  const auto worst = best_.empty() ? best_.end() : std::prev(best_.end());
  if (best_.size() >= kAnswers && worst->first < distance) return;
  best_.emplace(distance, name);
  if (best_.size() > kAnswers) best_.erase(std::prev(best_.end()));
}

void ClosestNames::Add(std::string_view name) {
  const std::string_view compared = HasOnePart(wanted_) ? LastPart(name) : name;
  const int limit = std::max<int>(2, static_cast<int>(wanted_.size()) / 3);
  const int distance = EditDistance(wanted_, compared, limit);
  if (distance <= limit) {
    Offer(int64_t{2} * distance, name);
  } else if (wanted_.size() >= 3 && compared.find(wanted_) != std::string_view::npos) {
    Offer(int64_t{2} * limit + 1, name);
  }
}

void ClosestNames::AddLine(std::string_view file, uint32_t line) {
  if (wanted_file_.empty()) return Add(file);
  if (EndsWithFile(file, wanted_file_)) {
    const int64_t distance = std::abs(int64_t{line} - int64_t{wanted_line_});
    return Offer(distance, absl::StrCat(wanted_file_, ":", line));
  }
  const std::string_view compared = HasOnePart(wanted_file_) ? LastPart(file) : file;
  const int limit = std::max<int>(2, static_cast<int>(wanted_file_.size()) / 3);
  const int distance = EditDistance(wanted_file_, compared, limit);
  if (distance <= limit) Offer(kOtherFile + distance, file);
}

std::vector<std::string> ClosestNames::Best() const {
  std::vector<std::string> names;
  for (const auto& [distance, name] : best_) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string ClosestLibraries(std::string_view wanted, const std::set<std::string>& paths) {
  const std::string_view stem = WithoutVersion(wanted);
  if (stem.empty()) return "";
  std::set<std::string> stems;
  for (const std::string& path : paths) stems.emplace(WithoutVersion(path));
  ClosestNames closest(stem);
  for (const std::string& one : stems) closest.Add(one);
  std::vector<std::string> files;
  for (const std::string& best : closest.Best()) {
    for (const std::string& path : paths) {
      if (WithoutVersion(path) == best) files.emplace_back(LastPart(path));
    }
  }
  files.resize(std::min(files.size(), kAnswers));
  return files.empty() ? "" : absl::StrCat("; the closest are: ", absl::StrJoin(files, ", "));
}

std::string ClosestPhrase(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string phrase = names.size() == 1 ? ", the closest is " : ", the closest are ";
  for (size_t i = 0; i < names.size(); ++i) {
    absl::StrAppend(&phrase, i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  }
  return phrase;
}

}  // namespace coz::points
