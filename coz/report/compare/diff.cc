#include "coz/report/compare/diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coz/report/compare/progress.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/unit_names.h"

namespace coz::report {
namespace {

using UnitKey = std::tuple<int, std::string, uint32_t, std::string>;

UnitKey KeyOf(const UnitRow& unit) {
  return {unit.kind, unit.file, unit.line, unit.IsByLine() ? "" : unit.function};
}

const LineAnalysis* FindLine(const PointAnalysis* point, size_t unit) {
  if (point == nullptr) return nullptr;
  for (const LineAnalysis& line : point->lines) {
    if (line.unit == unit) return &line;
  }
  return nullptr;
}

const PointAnalysis* FindPoint(const AnalyzedProfile& whole, const PointRow& wanted) {
  for (const PointAnalysis& point : whole.analysis.points) {
    const PointRow& row = whole.table.points[point.point];
    if (row.name == wanted.name && row.kind == wanted.kind) return &point;
  }
  return nullptr;
}

class Comparer {
 public:
  Comparer(const AnalyzedProfile& before, const AnalyzedProfile& after)
      : before_(before), after_(after), before_names_(before.table), after_names_(after.table) {
    MatchUnits();
  }

  PointDiff ComparePoint(const PointRow& row) {
    const PointAnalysis* before = FindPoint(before_, row);
    const PointAnalysis* after = FindPoint(after_, row);
    PointDiff diff;
    diff.name = row.name;
    diff.is_latency = row.kind == profile::PROGRESS_POINT_KIND_LATENCY;
    if (before != nullptr) diff.time_before = TimePerVisit(before_, before->point);
    if (after != nullptr) diff.time_after = TimePerVisit(after_, after->point);
    if (diff.time_before && diff.time_after && diff.time_before->value > 0) {
      diff.gain = Gain(*diff.time_before, *diff.time_after);
    }
    std::set<size_t> taken;
    for (size_t i = 0; before != nullptr && i < before->lines.size(); ++i) {
      const LineAnalysis& line = before->lines[i];
      const auto match = after_of_.find(line.unit);
      const LineAnalysis* other =
          match == after_of_.end() ? nullptr : FindLine(after, match->second);
      if (other != nullptr) taken.insert(other->unit);
      diff.lines.push_back(CompareLine(&line, other));
    }
    for (size_t i = 0; after != nullptr && i < after->lines.size(); ++i) {
      if (taken.count(after->lines[i].unit) != 0) continue;
      diff.lines.push_back(CompareLine(nullptr, &after->lines[i]));
    }
    Order(&diff.lines);
    return diff;
  }

 private:
  void MatchUnits() {
    std::map<UnitKey, size_t> in_after;
    for (size_t i = 0; i < after_.table.units.size(); ++i) {
      in_after[KeyOf(after_.table.units[i])] = i;
    }
    std::set<size_t> matched;
    // A line of the same number in another function is another line.
    for (size_t i = 0; i < before_.table.units.size(); ++i) {
      const auto found = in_after.find(KeyOf(before_.table.units[i]));
      if (found == in_after.end()) continue;
      if (before_.table.units[i].function != after_.table.units[found->second].function) continue;
      after_of_[i] = found->second;
      matched.insert(found->second);
    }
    MatchMoved(matched);
  }

  void MatchMoved(const std::set<size_t>& matched) {
    using Place = std::pair<std::string, std::string>;  // file, function
    std::map<Place, std::vector<size_t>> left_before;
    std::map<Place, std::vector<size_t>> left_after;
    const auto collect = [](const ExperimentTable& table, auto is_matched, auto* left) {
      for (size_t i = 0; i < table.units.size(); ++i) {
        const UnitRow& unit = table.units[i];
        if (!unit.IsByLine() && unit.kind != profile::UNIT_KIND_FUNCTION) continue;
        if (unit.function.empty() || is_matched(i)) continue;
        (*left)[{unit.file, unit.function}].push_back(i);
      }
    };
    collect(
        before_.table, [&](size_t i) { return after_of_.count(i) != 0; }, &left_before);
    collect(
        after_.table, [&](size_t i) { return matched.count(i) != 0; }, &left_after);
    for (const auto& [place, units] : left_before) {
      const auto other = left_after.find(place);
      if (units.size() != 1 || other == left_after.end() || other->second.size() != 1) continue;
      after_of_[units.front()] = other->second.front();
    }
  }

  // The slope of a straight curve says no more than its gain.
  static std::string Shown(const LineAnalysis& line) {
    const Headline headline = HeadlineOf(line);
    const std::string gain = GainText(headline);
    return headline.beyond.empty() ? gain : absl::StrCat(gain, ", ", headline.beyond);
  }

  LineDiff CompareLine(const LineAnalysis* before, const LineAnalysis* after) const {
    LineDiff diff;
    if (before != nullptr) {
      diff.before_name = before_.table.units[before->unit].Name();
      diff.before_shown = before_names_.Place(before->unit);
      diff.before_gain = Shown(*before);
      diff.before = before->slope;
      diff.function = before_.table.units[before->unit].function;
      diff.shown_detail = before_names_.Detail(before->unit);
      diff.change = Change::kGone;
    }
    if (after != nullptr) {
      diff.after_name = after_.table.units[after->unit].Name();
      diff.after_shown = after_names_.Place(after->unit);
      diff.after_gain = Shown(*after);
      diff.after = after->slope;
      diff.function = after_.table.units[after->unit].function;
      diff.shown_detail = after_names_.Detail(after->unit);
      diff.change = Change::kNew;
    }
    if (before == nullptr || after == nullptr) return diff;
    Estimate difference;
    difference.value = after->slope.value - before->slope.value;
    const double half = std::hypot((before->slope.high - before->slope.low) / 2,
                                   (after->slope.high - after->slope.low) / 2);
    difference.low = difference.value - half;
    difference.high = difference.value + half;
    diff.difference = difference;
    const double no_effect = after_.analysis.options.no_effect_slope;
    if (difference.low > 0) {
      diff.change = Change::kGained;
    } else if (difference.high < 0) {
      diff.change = Change::kLost;
    } else {
      const bool is_small = difference.low >= -no_effect && difference.high <= no_effect;
      diff.change = is_small ? Change::kUnchanged : Change::kCannotTell;
    }
    return diff;
  }

  static void Order(std::vector<LineDiff>* lines) {
    const auto rank = [](const LineDiff& line) {
      const bool certain = line.change == Change::kGained || line.change == Change::kLost;
      const double size = line.difference ? std::fabs(line.difference->value)
                          : line.after    ? std::fabs(line.after->value)
                                          : std::fabs(line.before->value);
      const bool one_sided = !line.difference.has_value();
      return std::make_tuple(!certain, !one_sided, -size);
    };
    std::stable_sort(lines->begin(), lines->end(),
                     [&](const LineDiff& a, const LineDiff& b) { return rank(a) < rank(b); });
  }

  const AnalyzedProfile& before_;
  const AnalyzedProfile& after_;
  const UnitNames before_names_;
  const UnitNames after_names_;
  std::map<size_t, size_t> after_of_;  // units
};

std::string NothingInCommon(const AnalyzedProfile& before, const AnalyzedProfile& after) {
  if (before.analysis.points.empty() || after.analysis.points.empty()) return "";
  for (const PointAnalysis& point : before.analysis.points) {
    if (FindPoint(after, before.table.points[point.point]) != nullptr) return "";
  }
  return absl::StrCat("the profiles have no progress point in common; they are of `",
                      TargetCommand(before.profile), "` and of `", TargetCommand(after.profile),
                      "`");
}

}  // namespace

ProfileDiff Compare(const AnalyzedProfile& before, const AnalyzedProfile& after) {
  ProfileDiff diff;
  const UnitNames names(after.table);
  diff.unit_word = names.word();
  diff.unit_words = names.Plural();
  diff.note = NothingInCommon(before, after);
  Comparer comparer(before, after);
  std::set<std::pair<std::string, int>> seen;
  for (const AnalyzedProfile* whole : {&after, &before}) {
    for (const PointAnalysis& point : whole->analysis.points) {
      const PointRow& row = whole->table.points[point.point];
      if (!seen.insert({row.name, row.kind}).second) continue;
      diff.points.push_back(comparer.ComparePoint(row));
    }
  }
  return diff;
}

const char* ChangeId(Change change) {
  switch (change) {
    case Change::kGained:
      return "gained";
    case Change::kLost:
      return "lost";
    case Change::kUnchanged:
      return "unchanged";
    case Change::kCannotTell:
      return "cannot_tell";
    case Change::kNew:
      return "new";
    case Change::kGone:
      return "gone";
  }
  return "";
}

}  // namespace coz::report
