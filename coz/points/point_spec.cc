#include "coz/points/point_spec.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "coz/points/closest_names.h"

namespace coz::points {
namespace {

constexpr char kUsdtPrefix[] = "usdt:";

// The length of the balanced brackets that end with the last character, brackets included; 0: they
// are not balanced.
size_t BracketsAtEnd(absl::string_view text, char open, char close) {
  int depth = 0;
  for (size_t i = text.size(); i > 0; --i) {
    if (text[i - 1] == close) ++depth;
    if (text[i - 1] == open && --depth == 0) return text.size() - i + 1;
  }
  return 0;
}

absl::string_view WithoutTemplateArguments(absl::string_view name) {
  if (name.empty() || name.back() != '>' || absl::EndsWith(name, "operator>") ||
      absl::EndsWith(name, "operator>>") || absl::EndsWith(name, "operator->")) {
    return name;
  }
  const size_t arguments = BracketsAtEnd(name, '<', '>');
  name.remove_suffix(arguments);
  // Rust has "show::<u64>".
  if (arguments != 0) absl::ConsumeSuffix(&name, "::");
  return name;
}

// Whether `part` is all of `name` or its last parts.
bool IsTailOfName(absl::string_view part, absl::string_view name) {
  if (!absl::EndsWith(name, part)) return false;
  const size_t before = name.size() - part.size();
  // A template's name is preceded by its return type and a space.
  return before == 0 || name[before - 1] == ':' || name[before - 1] == ' ';
}

absl::string_view LastPart(absl::string_view name) {
  name = WithoutTemplateArguments(name);
  const size_t colons = name.rfind("::");
  return colons == absl::string_view::npos ? name : name.substr(colons + 2);
}

}  // namespace

bool IsGlob(absl::string_view text) { return text.find_first_of("*?") != absl::string_view::npos; }

absl::StatusOr<PointSpec> ParsePointSpec(absl::string_view text) {
  PointSpec spec;
  spec.text = std::string(text);
  absl::string_view place = text;
  const size_t mark = text.find('!');
  // "operator!" and "operator!=" are functions of the program.
  if (mark != absl::string_view::npos && !absl::EndsWith(text.substr(0, mark), "operator")) {
    spec.binary = std::string(text.substr(0, mark));
    place = text.substr(mark + 1);
    if (spec.binary.empty() || place.empty()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("'%s' names no place; write BINARY!FUNCTION or BINARY!FILE:LINE, as in "
                          "'libz.so*!inflate'",
                          text));
    }
  }
  if (place.empty()) {
    return absl::InvalidArgumentError(
        "an empty text names no place; write FILE:LINE or a function, as in main.cc:12 or "
        "'Server::Reply'");
  }
  if (absl::StartsWith(place, kUsdtPrefix)) {
    const std::pair<absl::string_view, absl::string_view> names =
        absl::StrSplit(place.substr(sizeof(kUsdtPrefix) - 1), absl::MaxSplits(':', 1));
    if (names.first.empty() || names.second.empty()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "'%s' names no probe; write usdt:PROVIDER:NAME, as in usdt:postgresql:query__done; see "
          "what there is with: readelf -n PROGRAM",
          text));
    }
    spec.provider = std::string(names.first);
    spec.probe = std::string(names.second);
    return spec;
  }
  const size_t colon = place.rfind(':');
  uint32_t line = 0;
  if (colon != absl::string_view::npos && colon > 0 && place[colon - 1] != ':' &&
      absl::SimpleAtoi(place.substr(colon + 1), &line) && line > 0) {
    spec.file = std::string(place.substr(0, colon));
    spec.line = line;
    return spec;
  }
  if (place.back() == ':' || (colon != absl::string_view::npos && colon + 1 < place.size() &&
                              absl::ascii_isdigit(static_cast<unsigned char>(place[colon + 1])))) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "'%s' has no line number that is one; write FILE:LINE, as in main.cc:12", text));
  }
  spec.function = std::string(place);
  return spec;
}

absl::StatusOr<std::pair<std::string, std::string>> SplitPair(absl::string_view text) {
  int depth = 0;
  size_t comma = absl::string_view::npos;
  int commas = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '(') ++depth;
    if (text[i] == '>' || text[i] == ')') --depth;
    if (text[i] != ',' || depth != 0) continue;
    comma = i;
    ++commas;
  }
  if (commas != 1 || comma == 0 || comma + 1 == text.size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--latency='%s' is no pair; write --latency=BEGIN,END, each FILE:LINE, a "
                        "function, or mark:NAME, or --latency=api:LIBRARY:FUNCTION",
                        text));
  }
  return std::make_pair(std::string(text.substr(0, comma)), std::string(text.substr(comma + 1)));
}

bool MatchesGlob(absl::string_view glob, absl::string_view text) {
  size_t g = 0;
  size_t t = 0;
  size_t star = absl::string_view::npos;
  size_t after_star = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      after_star = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != absl::string_view::npos) {
      g = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

std::string WithoutParameters(absl::string_view demangled) {
  absl::string_view name = demangled;
  const size_t clone = name.find(" [clone");
  if (clone != absl::string_view::npos) name = name.substr(0, clone);
  const size_t end = name.rfind(')');
  if (end == absl::string_view::npos) return std::string(name);
  // After the parameters come only qualifiers; "(anonymous namespace)::f" has none.
  const absl::string_view rest = name.substr(end + 1);
  if (!std::all_of(rest.begin(), rest.end(), [](char c) {
        return absl::ascii_islower(static_cast<unsigned char>(c)) || c == ' ' || c == '&';
      })) {
    return std::string(name);
  }
  const absl::string_view upto = name.substr(0, end + 1);
  const size_t parameters = BracketsAtEnd(upto, '(', ')');
  return std::string(upto.substr(0, upto.size() - parameters));
}

std::string WithoutArguments(absl::string_view demangled) {
  return std::string(WithoutTemplateArguments(WithoutParameters(demangled)));
}

bool MatchesFunction(absl::string_view wanted, absl::string_view linkage_name,
                     absl::string_view demangled) {
  if (wanted == linkage_name || wanted == demangled) return true;
  const std::string name = WithoutParameters(demangled);
  const absl::string_view bare = WithoutTemplateArguments(name);
  if (wanted.empty()) return false;
  if (IsGlob(wanted)) {
    return MatchesGlob(wanted, linkage_name) || MatchesGlob(wanted, demangled) ||
           MatchesGlob(wanted, name) || MatchesGlob(wanted, bare);
  }
  return IsTailOfName(wanted, name) || IsTailOfName(wanted, bare) ||
         // With parameters, as a debugger prints it.
         (wanted.back() == ')' && IsTailOfName(wanted, demangled));
}

std::vector<std::string> ClosestMatches(absl::string_view wanted,
                                        const std::vector<std::string>& candidates, size_t count) {
  const std::string lower = absl::AsciiStrToLower(LastPart(wanted));
  const std::string whole(wanted);
  std::vector<std::pair<int, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    const std::string part = absl::AsciiStrToLower(LastPart(WithoutParameters(candidate)));
    const int limit = std::max(2, static_cast<int>(std::max(lower.size(), part.size()) / 3));
    int distance = EditDistance(lower, part, limit);
    const bool contains = lower.size() >= 4 && absl::StrContains(part, lower);
    if (contains) distance = std::min(distance, limit);
    if (distance > limit) continue;
    // Among equals, the one whose scopes are alike.
    ranked.emplace_back(distance * 1000 + EditDistance(whole, candidate, 900), candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> closest;
  std::set<std::string> seen;
  for (const auto& [distance, candidate] : ranked) {
    if (closest.size() == count) break;
    if (seen.insert(candidate).second) closest.push_back(candidate);
  }
  return closest;
}

}  // namespace coz::points
