#include "coz/report/wording/names_apart.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

bool IsOpening(char c) { return c == '<' || c == '('; }
bool IsClosing(char c) { return c == '>' || c == ')'; }

bool IsOfIdentifier(char c) {
  return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c));
}

// Behind the return type that a template's instance begins with.
size_t BeginOfName(absl::string_view function) {
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < function.size(); ++i) {
    if (depth == 0 && function[i] == '(') break;
    if (depth == 0 && function[i] == ' ') begin = i + 1;
    depth += IsOpening(function[i]) ? 1 : IsClosing(function[i]) ? -1 : 0;
  }
  return begin;
}

// "ns::Rounds" of "void ns::Rounds<int>(long)"; "::run" of "<Work as Job>::run".
std::string WithoutArguments(absl::string_view function) {
  std::string name;
  int depth = 0;
  for (const char c : function.substr(BeginOfName(function))) {
    if (depth == 0 && c == '(') break;
    if (IsClosing(c)) --depth;
    if (depth == 0 && c != '<' && c != '>') name.push_back(c);
    if (IsOpening(c)) ++depth;
  }
  return name;
}

size_t SameBytes(absl::string_view a, absl::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(most), b.begin()).first -
      a.begin());
}

// The outermost template arguments around `at`, without their brackets; npos: it is in none.
std::pair<size_t, size_t> ArgumentsAround(absl::string_view function, size_t at) {
  int depth = 0;
  size_t open = absl::string_view::npos;
  for (size_t i = 0; i < function.size(); ++i) {
    if (IsClosing(function[i]) && --depth == 0 && open < at && at <= i) return {open + 1, i};
    if (IsOpening(function[i]) && depth++ == 0) {
      open = function[i] == '<' ? i : absl::string_view::npos;
    }
  }
  return {absl::string_view::npos, absl::string_view::npos};
}

}  // namespace

NamesApart::NamesApart(const std::set<std::string>& names) {
  std::map<std::string, std::vector<absl::string_view>> alike;
  for (const std::string& name : names) {
    if (absl::StrContains(name, '<')) alike[WithoutArguments(name)].push_back(name);
  }
  for (const auto& [bare, group] : alike) {
    for (const absl::string_view name : group) {
      const size_t begin = BeginOfName(name);
      size_t least = absl::string_view::npos;
      size_t most = 0;
      for (const absl::string_view other : group) {
        if (other == name) continue;
        const size_t same = SameBytes(name.substr(begin), other.substr(BeginOfName(other))) + begin;
        least = std::min(least, same);
        most = std::max(most, same);
      }
      if (least == absl::string_view::npos) continue;
      Part part = {least, most};
      while (part.begin > 0 && IsOfIdentifier(name[part.begin - 1])) --part.begin;
      while (part.end < name.size() && IsOfIdentifier(name[part.end])) ++part.end;
      parts_.emplace(name, part);
    }
  }
}

std::string NamesApart::Shorten(const std::string& name, int width) const {
  const auto found = parts_.find(name);
  if (found == parts_.end() || DisplayWidth(name) <= width) return ShortenFunction(name, width);
  const auto [begin, end] = ArgumentsAround(name, found->second.begin);
  if (begin == std::string::npos) return ShortenFunction(name, width);
  const size_t from = found->second.begin;
  const size_t until = std::min(found->second.end, end);
  const std::string apart = absl::StrCat(
      "<", from > begin ? "…" : "", name.substr(from, until - from), until < end ? "…" : "", ">");
  const std::string tail = name.substr(end + 1, name.find('(', end) - end - 1);
  const size_t first = BeginOfName(name);
  std::string head = ShortenFunction(name.substr(first, begin - 1 - first), width);
  for (size_t scope = 0; scope != std::string::npos; scope = head.find("::")) {
    if (scope != 0) head.erase(0, scope + 2);
    if (DisplayWidth(absl::StrCat(head, apart, tail)) <= width) break;
  }
  return ElideEnd(absl::StrCat(head, apart, tail), width);
}

}  // namespace coz::report
