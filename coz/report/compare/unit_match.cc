#include "coz/report/compare/unit_match.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace coz::report {
namespace {

// A line of a function matters if it has a share of the samples of the function's hottest line, and
// some at all.
constexpr uint64_t kLeastShare = 100;  // one in so many
constexpr uint64_t kLeastSamples = 10;
// Of one function: a hostile profile may have any number. Each pair of lines that matter tells a
// shift.
constexpr size_t kMostLines = 300;
constexpr size_t kMostShifts = 16;

// Kind, file, function and threads.
using Home = std::tuple<int, std::string, std::string, std::string>;

bool IsNamedByFunction(const UnitRow& unit) {
  return unit.kind == profile::UNIT_KIND_FUNCTION || unit.kind == profile::UNIT_KIND_PATH;
}

// Units of one home in one profile, by line.
struct HomeLines {
  std::map<int64_t, size_t> units;
  std::set<int64_t> that_matter;
};

using Homes = std::map<Home, HomeLines>;

template <typename FileOf>
Homes HomesOf(const ExperimentTable& table, FileOf file_of) {
  Homes homes;
  for (size_t i = 0; i < table.units.size(); ++i) {
    const UnitRow& unit = table.units[i];
    homes[{unit.kind, file_of(unit.file), unit.function, unit.thread_group}].units[unit.line] = i;
  }
  for (auto& [home, lines] : homes) {
    uint64_t most = 0;
    for (const auto& [line, unit] : lines.units) {
      most = std::max(most, table.units[unit].samples);
    }
    const uint64_t least = std::min(most, std::max(kLeastSamples, most / kLeastShare));
    for (const auto& [line, unit] : lines.units) {
      if (lines.that_matter.size() == kMostLines) break;
      if (table.units[unit].samples >= least) lines.that_matter.insert(line);
    }
  }
  return homes;
}

// How many lines have a counterpart after a shift: of those that matter, and of all.
using ShiftFit = std::pair<size_t, size_t>;

ShiftFit FitOf(const HomeLines& before, const HomeLines& after, int64_t shift) {
  ShiftFit fit;
  for (const auto& [line, unit] : before.units) {
    if (after.units.count(line + shift) == 0) continue;
    ++fit.second;
    if (before.that_matter.count(line) + after.that_matter.count(line + shift) == 2) ++fit.first;
  }
  return fit;
}

// Whether a line that matters has no counterpart of its number.
bool LeavesOut(const HomeLines& some, const HomeLines& others) {
  return std::any_of(some.that_matter.begin(), some.that_matter.end(),
                     [&](int64_t line) { return others.units.count(line) == 0; });
}

// The shifts, but for 0, that fit the most lines that matter. None where so many fit as well.
std::vector<int64_t> BestShifts(const HomeLines& before, const HomeLines& after) {
  absl::flat_hash_map<int64_t, size_t> fits;
  for (const int64_t line : before.that_matter) {
    for (const int64_t other : after.that_matter) ++fits[other - line];
  }
  fits.erase(0);
  size_t most = 0;
  for (const auto& [shift, count] : fits) most = std::max(most, count);
  std::vector<int64_t> best;
  for (const auto& [shift, count] : fits) {
    if (count == most) best.push_back(shift);
  }
  if (best.size() > kMostShifts) best.clear();
  return best;
}

// By how much most of the lines have moved; nullopt where nothing fits, or more than one shift fits
// as well. Lines that have their numbers still have moved only if more lines say so.
std::optional<int64_t> ShiftOf(const HomeLines& before, const HomeLines& after) {
  if (before.units.size() == 1 && after.units.size() == 1) {
    return after.units.begin()->first - before.units.begin()->first;
  }
  const ShiftFit unmoved = FitOf(before, after, 0);
  const std::optional<int64_t> stay = unmoved.second > 0 ? std::optional<int64_t>(0) : std::nullopt;
  if (stay && !LeavesOut(before, after) && !LeavesOut(after, before)) return stay;
  ShiftFit best;
  std::optional<int64_t> shift;
  for (const int64_t other : BestShifts(before, after)) {
    const ShiftFit fit = FitOf(before, after, other);
    if (fit < best) continue;
    shift = fit == best ? std::nullopt : std::optional<int64_t>(other);
    best = fit;
  }
  const size_t fewer = std::min(before.that_matter.size(), after.that_matter.size());
  const bool are_most = 2 * best.first > fewer && best.first > unmoved.first;
  return shift && are_most ? shift : stay;
}

std::set<std::string> FilesOf(const ExperimentTable& table) {
  std::set<std::string> files;
  for (const UnitRow& unit : table.units) {
    if (!unit.file.empty()) files.insert(unit.file);
  }
  return files;
}

// Takes what lies at the shift out of both, and gives it to `join`.
template <typename Join>
void TakeOut(int64_t shift, HomeLines* before, HomeLines* after, Join join) {
  for (auto unit = before->units.begin(); unit != before->units.end();) {
    const auto other = after->units.find(unit->first + shift);
    if (other == after->units.end()) {
      ++unit;
      continue;
    }
    join(unit->second, other->second);
    before->that_matter.erase(unit->first);
    after->that_matter.erase(other->first);
    after->units.erase(other);
    unit = before->units.erase(unit);
  }
}

}  // namespace

std::string NameWithOther(const std::string& name, const char* word, const std::string& other) {
  const std::string line = name.substr(name.rfind(':') + 1);
  const std::string other_line = other.substr(other.rfind(':') + 1);
  return line == other_line ? name : absl::StrCat(name, " (", word, " ", other_line, ")");
}

FileMatch MatchFiles(const ExperimentTable& before, const ExperimentTable& after) {
  return FileMatch(FilesOf(before), FilesOf(after));
}

UnitMatch::UnitMatch(const ExperimentTable& before, const ExperimentTable& after)
    : files_(MatchFiles(before, after)),
      after_of_(before.units.size()),
      before_of_(after.units.size()) {
  Homes homes = HomesOf(before, [&](const std::string& file) { return files_.AfterOf(file); });
  Homes homes_after = HomesOf(after, [](const std::string& file) { return file; });
  for (auto& [home, lines] : homes) {
    const auto found = homes_after.find(home);
    if (found == homes_after.end()) continue;
    HomeLines& others = found->second;
    const auto join = [this](size_t unit, size_t other) { Join(unit, other); };
    // A line that is in no known function cannot be told from another one.
    if (std::get<2>(home).empty()) {
      TakeOut(0, &lines, &others, join);
      continue;
    }
    for (size_t i = 0; i < kMostShifts; ++i) {
      const std::optional<int64_t> shift = ShiftOf(lines, others);
      if (!shift) break;
      TakeOut(*shift, &lines, &others, join);
    }
  }
  MatchLinesOfUnknownFunctions(before, after);
  MatchFunctions(before, after);
}

// The original records no functions, so a line of its profiles is the one of that file and number,
// if there is only one.
void UnitMatch::MatchLinesOfUnknownFunctions(const ExperimentTable& before,
                                             const ExperimentTable& after) {
  std::map<std::tuple<std::string, int64_t, std::string>, std::vector<size_t>> left;
  for (size_t i = 0; i < after.units.size(); ++i) {
    const UnitRow& unit = after.units[i];
    if (unit.kind != profile::UNIT_KIND_LINE || before_of_[i]) continue;
    left[{unit.file, unit.line, unit.thread_group}].push_back(i);
  }
  for (size_t i = 0; i < before.units.size(); ++i) {
    const UnitRow& unit = before.units[i];
    if (unit.kind != profile::UNIT_KIND_LINE || after_of_[i]) continue;
    const auto found = left.find({files_.AfterOf(unit.file), unit.line, unit.thread_group});
    if (found == left.end() || found->second.size() != 1) continue;
    const size_t other = found->second.front();
    const bool is_unknown = unit.function.empty() || after.units[other].function.empty();
    if (is_unknown && !before_of_[other]) Join(i, other);
  }
}

void UnitMatch::Join(size_t before, size_t after) {
  after_of_[before] = after;
  before_of_[after] = before;
}

// A function that is left over once on each side is in another file now.
void UnitMatch::MatchFunctions(const ExperimentTable& before, const ExperimentTable& after) {
  struct Left {
    std::vector<size_t> before;
    std::vector<size_t> after;
  };
  std::map<std::tuple<int, std::string, std::string>, Left> left;
  const auto left_of = [&left](const UnitRow& unit) -> Left& {
    return left[{unit.kind, unit.function, unit.thread_group}];
  };
  for (size_t i = 0; i < before.units.size(); ++i) {
    const UnitRow& unit = before.units[i];
    if (IsNamedByFunction(unit) && !after_of_[i]) left_of(unit).before.push_back(i);
  }
  for (size_t i = 0; i < after.units.size(); ++i) {
    const UnitRow& unit = after.units[i];
    if (IsNamedByFunction(unit) && !before_of_[i]) left_of(unit).after.push_back(i);
  }
  for (const auto& [function, units] : left) {
    if (units.before.size() == 1 && units.after.size() == 1) {
      Join(units.before.front(), units.after.front());
    }
  }
}

}  // namespace coz::report
