#include "coz/sourcemap/unit_table.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/sourcemap/line_table_builder.h"
#include "coz/sourcemap/scope.h"

namespace coz::sourcemap {
namespace {

constexpr size_t kMaxOverlapsNamed = 3;
constexpr std::string_view kKindNames[] = {"line", "function", "file", "library",
                                           "path", "wait",     "group"};

// True if the pattern matches `text` from its start or from behind any `separator`.
bool MatchesFromAnyPart(std::string_view pattern, std::string_view text,
                        std::string_view separator) {
  if (MatchesPattern(pattern, text)) return true;
  if (pattern.empty() || IsWildcard(pattern.front()) || pattern.front() == '/') return false;
  for (size_t at = text.find(separator); at != std::string_view::npos;
       at = text.find(separator, at + 1)) {
    if (MatchesPattern(pattern, text.substr(at + separator.size()))) return true;
  }
  return false;
}

// A function may be called as the program is, but none as a library.
bool IsOfLibraries(const UnitPattern& pattern) {
  return pattern.text().find(".so") != std::string::npos;
}

bool ReadNumber(std::string_view text, uint32_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number > 0;
}

// Collects units while the intervals of the base table go by.
class Deriver {
 public:
  Deriver(const LineTable& base, const std::string& binary_path, const UnitRules& rules)
      : base_(base), binary_path_(binary_path), rules_(rules) {
    derived_.group_has_code.resize(rules.groups.size());
    derived_.exclude_has_code.resize(rules.exclude.size());
  }

  absl::StatusOr<DerivedUnits> Run() {
    ClassifyLines();
    CollectIntervals();
    return Build();
  }

 private:
  // Groups sort before all others, and among themselves by their order in the rules.
  using Key = std::tuple<size_t, std::string, uint32_t, std::string>;
  struct Unit {
    uint32_t number = 0;
    std::map<std::string, uint64_t> bytes_of_function;
  };
  using Entry = std::pair<const Key, Unit>;
  struct Interval {
    uint64_t begin;
    uint64_t end;
    uint32_t line;  // of the base table
  };

  size_t GroupOf(std::string_view file, uint32_t line, std::string_view function) {
    size_t found = rules_.groups.size();
    for (size_t i = 0; i < rules_.groups.size(); ++i) {
      if (!MatchesAny(rules_.groups[i].patterns, file, line, function)) continue;
      if (found == rules_.groups.size()) {
        found = i;
      } else if (derived_.overlaps.size() < kMaxOverlapsNamed) {
        derived_.overlaps.push_back(absl::StrFormat(
            "%s and %s both hold %s", rules_.groups[found].name, rules_.groups[i].name,
            line == 0 || file.empty() ? std::string(file.empty() ? function : file)
                                      : absl::StrFormat("%s:%d", file, line)));
      }
    }
    return found;
  }

  bool Matches(const UnitPattern& pattern, std::string_view file, uint32_t line,
               std::string_view function) const {
    if (rules_.kind == UnitKind::kLibrary) return pattern.MatchesBinary(binary_path_);
    return pattern.MatchesCode(file, line, function) ||
           (rules_.kind == UnitKind::kPath && IsOfLibraries(pattern) &&
            pattern.MatchesBinary(binary_path_));
  }

  bool MatchesAny(const std::vector<UnitPattern>& patterns, std::string_view file, uint32_t line,
                  std::string_view function) const {
    return std::any_of(patterns.begin(), patterns.end(), [&](const UnitPattern& pattern) {
      return Matches(pattern, file, line, function);
    });
  }

  bool IsExcluded(std::string_view file, uint32_t line, std::string_view function) {
    bool is_excluded = false;
    for (size_t i = 0; i < rules_.exclude.size(); ++i) {
      if (!Matches(rules_.exclude[i], file, line, function)) continue;
      derived_.exclude_has_code[i] = true;
      is_excluded = true;
    }
    return is_excluded;
  }

  // What code belongs to; nothing where it is excluded.
  std::optional<Key> KeyOf(const std::string& file, uint32_t line, const FunctionKey& function) {
    if (IsExcluded(file, line, function.name)) return std::nullopt;
    const size_t group = GroupOf(file, line, function.name);
    if (group < rules_.groups.size()) {
      derived_.group_has_code[group] = true;
      return Key(group, "", 0, "");
    }
    switch (rules_.kind) {
      case UnitKind::kFunction:
      case UnitKind::kPath:
        if (function.name.empty()) return std::nullopt;
        return Key(group, function.file, function.line, function.name);
      case UnitKind::kFile:
        return Key(group, file, 0, "");
      case UnitKind::kLibrary:
        return Key(group, binary_path_, 0, "");
      default:
        return Key(group, file, line, "");
    }
  }

  // Entries of the base table's line, innermost first: one, or those of a path; none where all is
  // excluded.
  std::vector<Entry*> EntriesOf(const Line& line) {
    std::vector<Entry*> entries;
    const auto add = [&](const std::string& file, uint32_t number, const FunctionKey& function) {
      const std::optional<Key> key = KeyOf(file, number, function);
      if (!key.has_value() || entries.size() == kMaxPathFunctions) return;
      Entry* const entry = &*units_.try_emplace(*key).first;
      if (std::find(entries.begin(), entries.end(), entry) == entries.end()) {
        entries.push_back(entry);
      }
    };
    const PathKey path = PathKey::FromText(line.function);
    add(line.file, line.line, path.function);
    for (const PathKey::Caller& caller : path.callers) {
      add(caller.file, caller.line, caller.function);
    }
    return entries;
  }

  void ClassifyLines() {
    for (size_t i = 0; i < rules_.groups.size(); ++i) units_[Key(i, "", 0, "")];
    entries_of_line_.reserve(base_.line_count());
    for (uint32_t i = 0; i < base_.line_count(); ++i) {
      entries_of_line_.push_back(EntriesOf(base_.line(i)));
    }
  }

  void CollectIntervals() {
    base_.ForEachInterval([this](uint64_t begin, uint64_t end, uint32_t line) {
      if (entries_of_line_[line].empty()) {
        derived_.excluded_bytes += end - begin;
        return;
      }
      intervals_.push_back({begin, end, line});
      // A line's function is the one that holds most of its code.
      if (!rules_.IsByLine()) return;
      const FunctionKey function = FunctionKey::FromText(base_.line(line).function);
      entries_of_line_[line].front()->second.bytes_of_function[function.name] += end - begin;
    });
  }

  UnitDescription Describe(const Key& key, const std::map<std::string, uint64_t>& functions) const {
    const auto& [group, file, line, function] = key;
    if (group < rules_.groups.size()) return {UnitKind::kGroup, "", 0, rules_.groups[group].name};
    UnitDescription unit = {rules_.kind, file, line, function};
    if (rules_.IsByLine() && !functions.empty()) {
      unit.function =
          std::max_element(functions.begin(), functions.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
          })->first;
    }
    return unit;
  }

  // Numbers the paths of several functions behind all units.
  void NumberPaths() {
    std::map<std::vector<uint32_t>, uint32_t> paths;
    for (const Interval& interval : intervals_) {
      std::vector<uint32_t> path = UnitsOf(interval);
      if (path.size() > 1) paths.try_emplace(std::move(path), 0);
    }
    for (auto& [path, number] : paths) {
      derived_.paths.push_back(path);
      number = static_cast<uint32_t>(derived_.units.size() + derived_.paths.size());
    }
    paths_ = std::move(paths);
  }

  std::vector<uint32_t> UnitsOf(const Interval& interval) const {
    std::vector<uint32_t> units;
    for (const Entry* entry : entries_of_line_[interval.line]) {
      units.push_back(entry->second.number - 1);
    }
    return units;
  }

  uint32_t NumberOf(const Interval& interval) const {
    const std::vector<Entry*>& entries = entries_of_line_[interval.line];
    if (entries.size() == 1) return entries.front()->second.number;
    return paths_.at(UnitsOf(interval));
  }

  absl::StatusOr<DerivedUnits> Build() {
    LineTableBuilder builder;
    builder.set_build_id(base_.build_id());
    builder.set_scope_fingerprint(base_.scope_fingerprint());
    // A table is ordered by file and line: the number in place of the line gives it this order.
    const uint32_t no_text = builder.AddString("");
    for (auto& [key, unit] : units_) {
      unit.number = static_cast<uint32_t>(derived_.units.size()) + 1;
      builder.AddLine(no_text, unit.number, no_text);
      derived_.units.push_back(Describe(key, unit.bytes_of_function));
    }
    NumberPaths();
    for (const Interval& interval : intervals_) {
      builder.AddInterval(interval.begin, interval.end, no_text, NumberOf(interval), no_text);
    }
    absl::StatusOr<std::string> image = builder.Build();
    if (!image.ok()) return image.status();
    derived_.image = *std::move(image);
    return std::move(derived_);
  }

  const LineTable& base_;
  const std::string& binary_path_;
  const UnitRules& rules_;
  std::map<Key, Unit> units_;
  std::vector<std::vector<Entry*>> entries_of_line_;
  std::vector<Interval> intervals_;
  std::map<std::vector<uint32_t>, uint32_t> paths_;  // numbers of those with several functions
  DerivedUnits derived_;
};

}  // namespace

std::string_view NameOf(UnitKind kind) { return kKindNames[static_cast<int>(kind)]; }

bool ParseUnitKind(std::string_view text, UnitKind* kind) {
  // Groups are named, not chosen as a kind.
  for (int i = 0; i < static_cast<int>(UnitKind::kGroup); ++i) {
    if (kKindNames[i] != text) continue;
    *kind = static_cast<UnitKind>(i);
    return true;
  }
  return false;
}

std::string_view WithoutParameters(std::string_view function) {
  // Parentheses of "(anonymous namespace)" and "operator()" are part of the name; the parameters
  // come last.
  const size_t end = function.rfind(')');
  if (end == std::string_view::npos) return function;
  const std::string_view after = function.substr(end + 1);
  if (!after.empty() && after != " const" && after != " &" && after != " &&") return function;
  int depth = 0;
  for (size_t i = end + 1; i-- > 0;) {
    if (function[i] == ')') ++depth;
    if (function[i] == '(' && --depth == 0) {
      const std::string_view name = function.substr(0, i);
      const bool is_call_operator = name.size() >= 8 && name.substr(name.size() - 8) == "operator";
      return name.empty() || is_call_operator ? function : name;
    }
  }
  return function;
}

UnitPattern::UnitPattern(std::string_view text) : text_(text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || text[colon - 1] == ':') return;
  const std::string_view range = text.substr(colon + 1);
  const size_t dash = range.find('-');
  uint32_t first = 0;
  uint32_t last = 0;
  if (!ReadNumber(range.substr(0, dash), &first)) return;
  if (dash == std::string_view::npos) {
    last = first;
  } else if (!ReadNumber(range.substr(dash + 1), &last) || last < first) {
    return;
  }
  file_ = text.substr(0, colon);
  first_line_ = first;
  last_line_ = last;
}

bool UnitPattern::MatchesCode(std::string_view file, uint32_t line,
                              std::string_view function) const {
  if (last_line_ != 0) {
    return line >= first_line_ && line <= last_line_ && MatchesFromAnyPart(file_, file, "/");
  }
  return (!file.empty() && MatchesFromAnyPart(text_, file, "/")) ||
         (!function.empty() && (MatchesFromAnyPart(text_, function, "::") ||
                                MatchesFromAnyPart(text_, WithoutParameters(function), "::")));
}

bool UnitPattern::MatchesBinary(std::string_view path) const {
  return MatchesFromAnyPart(text_, path, "/");
}

TableDetail UnitRules::Detail() const {
  if (AreLines() || kind == UnitKind::kFile) {
    return groups.empty() && exclude.empty() ? TableDetail::kLines : TableDetail::kFunctions;
  }
  if (kind == UnitKind::kPath) return TableDetail::kPaths;
  return kind == UnitKind::kFunction && !inlined_copies ? TableDetail::kOuterFunctions
                                                        : TableDetail::kFunctions;
}

std::string UnitDescription::Name() const {
  return thread_group.empty() ? CodeName() : absl::StrCat(CodeName(), "@", thread_group);
}

std::string UnitDescription::CodeName() const {
  switch (kind) {
    case UnitKind::kFunction:
    case UnitKind::kPath:
    case UnitKind::kGroup:
      return function;
    case UnitKind::kFile:
    case UnitKind::kLibrary:
      return file;
    case UnitKind::kLine:
    case UnitKind::kWait:
      break;
  }
  return file.empty() ? function : absl::StrCat(file, ":", line);
}

absl::StatusOr<DerivedUnits> DeriveUnits(const LineTable& base, const std::string& binary_path,
                                         const UnitRules& rules) {
  return Deriver(base, binary_path, rules).Run();
}

}  // namespace coz::sourcemap
