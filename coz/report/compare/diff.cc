#include "coz/report/compare/diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coz/report/compare/caveats.h"
#include "coz/report/compare/comparable.h"
#include "coz/report/compare/progress.h"
#include "coz/report/compare/unit_match.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/nothing_measured.h"
#include "coz/report/wording/text_layout.h"
#include "coz/report/wording/unit_names.h"

namespace coz::report {
namespace {

// What one profile says of a unit at a point.
struct Said {
  size_t unit = 0;
  const LineAnalysis* line = nullptr;   // of one that was tried
  const LineSetAside* small = nullptr;  // of one that its samples alone tell of

  bool is_there() const { return line != nullptr || small != nullptr; }
  bool is_by_samples() const { return small != nullptr || line->by_samples; }
  bool is_no_gain() const { return small != nullptr || line->verdict == Verdict::kNoEffect; }
  // Where the slope is.
  Estimate Range() const {
    if (!is_by_samples()) return line->slope;
    return {0, 0, small != nullptr ? small->gain_limit : line->gain_limit};
  }
};

Said Find(const PointAnalysis* point, size_t unit) {
  Said said;
  said.unit = unit;
  if (point == nullptr) return said;
  for (const LineAnalysis& line : point->lines) {
    if (line.unit == unit) said.line = &line;
  }
  for (const LineSetAside& line : point->set_aside) {
    if (line.unit == unit && line.reason == SetAsideReason::kSmall) said.small = &line;
  }
  return said;
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
      : before_(before),
        after_(after),
        before_names_(before.table),
        after_names_(after.table),
        match_(before.table, after.table) {}

  std::string WhyUnclear() const { return match_.WhyUnclear(); }

  PointDiff ComparePoint(const PointRow& row) {
    const PointAnalysis* before = FindPoint(before_, row);
    const PointAnalysis* after = FindPoint(after_, row);
    PointDiff diff;
    diff.name = row.name;
    diff.is_in_before = before != nullptr;
    diff.is_in_after = after != nullptr;
    diff.is_latency = row.kind == profile::PROGRESS_POINT_KIND_LATENCY;
    if (before != nullptr) diff.time_before = TimePerVisit(before_, before->point);
    if (after != nullptr) diff.time_after = TimePerVisit(after_, after->point);
    if (diff.time_before && diff.time_after && diff.time_before->value > 0) {
      diff.gain = Gain(*diff.time_before, *diff.time_after);
    }
    std::set<size_t> taken;
    for (size_t i = 0; before != nullptr && i < before->lines.size(); ++i) {
      const size_t unit = before->lines[i].unit;
      const std::optional<size_t> match = match_.AfterOf(unit);
      const Said other = match ? Find(after, *match) : Said();
      if (other.is_there()) taken.insert(other.unit);
      diff.lines.push_back(CompareLine(Find(before, unit), other));
    }
    for (size_t i = 0; after != nullptr && i < after->lines.size(); ++i) {
      const size_t unit = after->lines[i].unit;
      if (taken.count(unit) != 0) continue;
      const std::optional<size_t> match = match_.BeforeOf(unit);
      const Said other = match ? Find(before, *match) : Said();
      diff.lines.push_back(CompareLine(other, Find(after, unit)));
    }
    TellApart(&diff.lines);
    Order(&diff.lines);
    return diff;
  }

 private:
  static Headline FigureOf(const Said& said) {
    return said.line != nullptr ? HeadlineOf(*said.line) : HeadlineOfLimit(said.small->gain_limit);
  }

  // The slope of a straight curve says no more than its gain.
  static std::string Shown(const Headline& headline) {
    const std::string gain = GainText(headline);
    return headline.beyond.empty() ? gain : absl::StrCat(gain, ", ", headline.beyond);
  }

  LineDiff CompareLine(const Said& before, const Said& after) const {
    LineDiff diff;
    if (before.is_there()) {
      diff.before_name = before_.table.units[before.unit].Name();
      diff.before_shown = before_names_.Place(before.unit);
      diff.before_headline = FigureOf(before);
      diff.before_gain = Shown(*diff.before_headline);
      diff.before_file = before_.table.units[before.unit].file;
      diff.before_line = before_.table.units[before.unit].line;
      if (before.line != nullptr) diff.before = before.line->slope;
      diff.change = Change::kGone;
    }
    if (after.is_there()) {
      diff.after_name = after_.table.units[after.unit].Name();
      diff.after_shown = after_names_.Place(after.unit);
      diff.after_headline = FigureOf(after);
      diff.after_gain = Shown(*diff.after_headline);
      diff.after_file = after_.table.units[after.unit].file;
      diff.after_line = after_.table.units[after.unit].line;
      if (after.line != nullptr) diff.after = after.line->slope;
      diff.change = Change::kNew;
    }
    diff.function = after.is_there() ? after_.table.units[after.unit].function
                                     : before_.table.units[before.unit].function;
    diff.shown_detail =
        after.is_there() ? after_names_.Detail(after.unit) : before_names_.Detail(before.unit);
    if (before.is_there() && after.is_there()) SetChange(before, after, &diff);
    return diff;
  }

  void SetChange(const Said& before, const Said& after, LineDiff* diff) const {
    const double no_effect = after_.analysis.options.no_effect_slope;
    const Estimate was = before.Range();
    const Estimate is = after.Range();
    Estimate difference;
    if (before.is_by_samples() || after.is_by_samples()) {
      difference = {0, is.low - was.high, is.high - was.low};
    } else {
      const double half = std::hypot((was.high - was.low) / 2, (is.high - is.low) / 2);
      difference = {is.value - was.value, is.value - was.value - half, is.value - was.value + half};
      diff->difference = difference;
    }
    const bool by_samples_alike =
        !diff->difference.has_value() && before.is_no_gain() && after.is_no_gain();
    if (by_samples_alike) {
      diff->change = Change::kUnchanged;
    } else if (difference.low > 0) {
      diff->change = Change::kGained;
    } else if (difference.high < 0) {
      diff->change = Change::kLost;
    } else {
      const bool is_small = difference.low >= -no_effect && difference.high <= no_effect;
      diff->change = is_small ? Change::kUnchanged : Change::kCannotTell;
    }
  }

  // What is gone and what is new may have one name, each within its folder.
  static void TellApart(std::vector<LineDiff>* lines) {
    std::map<std::pair<std::string, std::string>, LineDiff*> gone;
    for (LineDiff& line : *lines) {
      if (line.change == Change::kGone) gone[{line.before_shown, line.shown_detail}] = &line;
    }
    for (LineDiff& line : *lines) {
      const auto found = gone.find({line.after_shown, line.shown_detail});
      if (line.change != Change::kNew || found == gone.end()) continue;
      LineDiff& other = *found->second;
      const size_t folder = CommonFolder({other.before_name, line.after_name}).size();
      other.before_shown = Printable(other.before_name.substr(folder));
      line.after_shown = Printable(line.after_name.substr(folder));
    }
  }

  static void Order(std::vector<LineDiff>* lines) {
    const auto rank = [](const LineDiff& line) {
      const bool certain = line.change == Change::kGained || line.change == Change::kLost;
      const double size = line.difference ? std::fabs(line.difference->value)
                          : line.after    ? std::fabs(line.after->value)
                                          : std::fabs(line.before->value);
      const bool one_sided = line.change == Change::kNew || line.change == Change::kGone;
      return std::make_tuple(!certain, !one_sided, -size);
    };
    std::stable_sort(lines->begin(), lines->end(),
                     [&](const LineDiff& a, const LineDiff& b) { return rank(a) < rank(b); });
  }

  const AnalyzedProfile& before_;
  const AnalyzedProfile& after_;
  const UnitNames before_names_;
  const UnitNames after_names_;
  const UnitMatch match_;
};

std::vector<std::string> NotesOn(const AnalyzedProfile& before, const AnalyzedProfile& after,
                                 const std::string& unclear_files) {
  std::vector<std::string> notes = {WhyNoPointInCommon(before, after)};
  // Of other programs, all else that they do not share follows.
  if (notes.front().empty()) notes.front() = WhyNoUnitInCommon(before, after);
  if (notes.front().empty()) notes.front() = unclear_files;
  for (std::string& caveat : Caveats(before, after)) notes.push_back(std::move(caveat));
  notes.push_back(NoteOnOthers(before, after));
  notes.erase(std::remove(notes.begin(), notes.end(), ""), notes.end());
  return notes;
}

}  // namespace

ProfileDiff Compare(const AnalyzedProfile& before, const AnalyzedProfile& after) {
  ProfileDiff diff;
  const UnitNames names(after.table);
  diff.unit_word = names.word();
  diff.unit_words = names.Plural();
  for (const AnalyzedProfile* whole : {&before, &after}) {
    const auto nothing = FindNothingMeasured(whole->profile, whole->table, whole->analysis);
    diff.is_measured &= !nothing.has_value();
  }
  Comparer comparer(before, after);
  diff.notes = NotesOn(before, after, comparer.WhyUnclear());
  const bool has_units = !AreOfDifferentUnits(before, after);
  std::set<std::pair<std::string, int>> seen;
  for (const AnalyzedProfile* whole : {&after, &before}) {
    for (const PointAnalysis& point : whole->analysis.points) {
      const PointRow& row = whole->table.points[point.point];
      if (!seen.insert({row.name, row.kind}).second) continue;
      diff.points.push_back(comparer.ComparePoint(row));
      if (!has_units) diff.points.back().lines.clear();
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
