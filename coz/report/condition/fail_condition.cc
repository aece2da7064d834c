#include "coz/report/condition/fail_condition.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/condition/limit.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/text_layout.h"
#include "coz/report/wording/typed_name.h"

namespace coz::report {
namespace {

std::string Trimmed(const std::string& text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

absl::Status NotACondition(const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--fail-if='", Printable(text),
      "' is no condition; write one like 'gain(server.cpp:12) > 10%' or 'slope(requests, "
      "decode.cc:*) >= 0.3'"));
}

// The place of the curve that is most certainly a gain, or a loss. The curve is of all experiments:
// of some speedups, each with a few experiments of its own, luck would make the best.
Estimate BestOf(const LineAnalysis& line) {
  const bool open = line.verdict == Verdict::kCannotTell;
  const bool is_loss = line.verdict == Verdict::kSlower || (open && line.slope.high < 0);
  Estimate best = {std::nan(""), std::nan(""), std::nan("")};
  for (const CurvePoint& point : line.curve.points) {
    const Estimate& e = point.program_speedup;
    if (point.virtual_speedup == 0) continue;  // the origin, of all curves
    if (std::isnan(best.value) || (is_loss ? e.high < best.high : e.low > best.low)) best = e;
  }
  return best;
}

std::vector<size_t> CommasOutsideOfBrackets(const std::string& names) {
  std::vector<size_t> commas;
  int depth = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == '(' || names[i] == '<') ++depth;
    if (names[i] == ')' || names[i] == '>') --depth;
    if (names[i] == ',' && depth == 0) commas.push_back(i);
  }
  return commas;
}

// Where the argument list of a function begins; npos: it has none. Brackets of
// "(anonymous namespace)", "operator()" and of templates are part of the name.
size_t ArgumentsBegin(const std::string& function) {
  const size_t end = function.rfind(')');
  if (end == std::string::npos) return end;
  int depth = 0;
  for (size_t i = end + 1; i-- > 0;) {
    if (function[i] == ')') ++depth;
    if (function[i] == '(' && --depth == 0) return i;
  }
  return std::string::npos;
}

// Of a function also its name alone, and the place of it that reports show.
bool FitsUnit(const std::string& units, const UnitRow& unit) {
  if (MatchesName(units, unit.Name())) return true;
  if (unit.kind != profile::UNIT_KIND_FUNCTION) return false;
  const std::string group = unit.thread_group.empty() ? "" : absl::StrCat("@", unit.thread_group);
  const std::string alone = unit.function.substr(0, ArgumentsBegin(unit.function));
  if (MatchesName(units, absl::StrCat(alone, group))) return true;
  return !unit.file.empty() && MatchesName(units, absl::StrCat(unit.file, ":", unit.line, group));
}

}  // namespace

absl::StatusOr<FailCondition> FailCondition::Parse(const std::string& text) {
  // Names of functions may hold commas and brackets. So the name of the point ends at a comma
  // outside of brackets, and that of the unit at the last bracket before the comparison.
  static const std::regex* const kForm = new std::regex(
      R"(^\s*(gain|slope|best)(?:\.(value|low|high))?\s*\((.+)\)\s*(>=|<=|>|<)\s*(\S+(?:\s+%)?)\s*$)");
  std::smatch parts;
  // A regular expression takes long for a long text, and no condition is that long.
  if (text.size() > 1000 || !std::regex_match(text, parts, *kForm)) return NotACondition(text);
  FailCondition condition;
  condition.text_ = Trimmed(text);
  condition.figure_ = parts[1] == "gain"    ? Figure::kGain
                      : parts[1] == "slope" ? Figure::kSlope
                                            : Figure::kBest;
  const std::optional<Limit> limit = ParseLimit(parts[4], parts[5]);
  if (!limit.has_value()) return NotACondition(text);
  condition.limit_ = *limit;
  condition.bound_ = parts[2] == "value"  ? Bound::kValue
                     : parts[2] == "low"  ? Bound::kLow
                     : parts[2] == "high" ? Bound::kHigh
                     : limit->IsAbove()   ? Bound::kLow
                                          : Bound::kHigh;
  const std::string names = parts[3];
  for (size_t comma : CommasOutsideOfBrackets(names)) {
    condition.parted_.push_back(
        {Trimmed(names.substr(0, comma)), Trimmed(names.substr(comma + 1))});
  }
  if (condition.parted_.empty()) condition.parted_.push_back({"", Trimmed(names)});
  const bool has_units = std::any_of(condition.parted_.begin(), condition.parted_.end(),
                                     [](const Parted& parted) { return !parted.units.empty(); });
  if (!has_units) return NotACondition(text);
  return condition;
}

double FailCondition::FigureOf(const LineAnalysis& line) const {
  return BoundOf(figure_ == Figure::kGain    ? HeadlineOf(line).program_speedup
                 : figure_ == Figure::kSlope ? line.slope
                                             : BestOf(line));
}

double FailCondition::FigureOf(const LineSetAside& line) const {
  if (line.reason != SetAsideReason::kSmall || figure_ == Figure::kBest) return std::nan("");
  const double limit = figure_ == Figure::kSlope
                           ? line.gain_limit
                           : HeadlineOfLimit(line.gain_limit).program_speedup.high;
  return BoundOf({std::nan(""), std::nan(""), limit});
}

double FailCondition::BoundOf(const Estimate& e) const {
  switch (bound_) {
    case Bound::kValue:
      return e.value;
    case Bound::kLow:
      return e.low;
    case Bound::kHigh:
      return e.high;
  }
  return e.value;
}

// Where a point fits; else at the first comma, so that what is said of a point that does not fit is
// said of one.
absl::StatusOr<FailCondition::Parted> FailCondition::PartedFor(const ExperimentTable& table,
                                                               const Analysis& analysis) const {
  const Parted* fitting = nullptr;
  for (const Parted& parted : parted_) {
    const bool fits = std::any_of(
        analysis.points.begin(), analysis.points.end(), [&](const PointAnalysis& point) {
          return MatchesName(parted.point, table.points[point.point].name);
        });
    if (!fits) continue;
    if (fitting != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--fail-if='", Printable(text_), "' fits the progress points ", Printable(fitting->point),
          " and ", Printable(parted.point), "; write * for the comma in the name of the point"));
    }
    fitting = &parted;
  }
  return fitting != nullptr ? *fitting : parted_.front();
}

absl::StatusOr<std::vector<const PointAnalysis*>> FailCondition::Points(
    const std::string& wanted, const ExperimentTable& table, const Analysis& analysis,
    const Suggest& suggest) const {
  std::vector<const PointAnalysis*> points;
  std::vector<std::string> names;
  for (const PointAnalysis& point : analysis.points) {
    names.push_back(table.points[point.point].name);
    if (wanted.empty() ? points.empty() : MatchesName(wanted, names.back())) {
      points.push_back(&point);
    }
  }
  if (!points.empty()) return points;
  if (names.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "--fail-if='", Printable(text_), "' fits nothing, for the profile has no progress point"));
  }
  return absl::NotFoundError(absl::StrCat("--fail-if='", Printable(text_),
                                          "' fits no progress point", suggest(wanted, names)));
}

std::string FailCondition::Sentence(const UnitRow& unit, const PointRow& point,
                                    double figure) const {
  const char* bound = bound_ == Bound::kLow    ? "the lower bound of "
                      : bound_ == Bound::kHigh ? "the upper bound of "
                                               : "";
  const std::string name = Printable(WithoutBuildFolder(unit.Name()));
  const std::string at = Printable(point.name);
  const std::string what =
      figure_ == Figure::kSlope
          ? absl::StrFormat("%sthe slope of %s at %s is %.3f", bound, name, at, figure)
          : absl::StrFormat("%sthe %s of %s at %s is %.1f %%", bound,
                            figure_ == Figure::kGain
                                ? absl::StrCat(GainHead(), " faster")
                                : std::string("best predicted program speedup"),
                            name, at, 100 * figure);
  return absl::StrCat(what, ", so --fail-if='", Printable(text_), "' holds");
}

// Where the name is that of a function of which only lines are units; else "".
std::string FailCondition::UnitsAreLines(const std::string& units,
                                         const ExperimentTable& table) const {
  for (const UnitRow& unit : table.units) {
    if (unit.kind != profile::UNIT_KIND_LINE) continue;
    const std::string name = unit.function.substr(0, unit.function.find('('));
    if (!MatchesName(units, unit.function) && !MatchesName(units, name)) continue;
    return absl::StrCat("; the units of this profile are lines: name one, such as ",
                        Printable(WithoutBuildFolder(unit.Name())),
                        ", or measure functions with `coz run --unit=function`");
  }
  return "";
}

absl::StatusOr<std::optional<std::string>> FailCondition::Find(const ExperimentTable& table,
                                                               const Analysis& analysis,
                                                               const Suggest& suggest) const {
  const auto parted = PartedFor(table, analysis);
  if (!parted.ok()) return parted.status();
  const std::string& units = parted->units;
  const auto points = Points(parted->point, table, analysis, suggest);
  if (!points.ok()) return points.status();
  bool has_figure = false;
  std::string set_aside;
  std::vector<std::string> names;
  for (const PointAnalysis* point : *points) {
    for (const LineAnalysis& line : point->lines) {
      const UnitRow& unit = table.units[line.unit];
      names.push_back(unit.Name());
      if (!FitsUnit(units, unit)) continue;
      has_figure = true;
      const double figure = FigureOf(line);
      if (limit_.Holds(figure)) return Sentence(unit, table.points[point->point], figure);
    }
    for (const LineSetAside& line : point->set_aside) {
      const std::string name = table.units[line.unit].Name();
      names.push_back(name);
      if (!FitsUnit(units, table.units[line.unit])) continue;
      if (line.reason != SetAsideReason::kSmall) set_aside = name;
      has_figure |= line.reason == SetAsideReason::kSmall;
      const double figure = FigureOf(line);
      if (limit_.Holds(figure))
        return Sentence(table.units[line.unit], table.points[point->point], figure);
    }
  }
  if (has_figure) return std::optional<std::string>();
  if (!set_aside.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "--fail-if='", Printable(text_), "' fits only units without a figure, such as ",
        Printable(set_aside), "; profile longer, with `coz run --until=20` for example"));
  }
  const std::string lines = UnitsAreLines(units, table);
  return absl::NotFoundError(absl::StrCat("--fail-if='", Printable(text_),
                                          "' fits nothing in the profile",
                                          lines.empty() ? suggest(units, names) : lines));
}

}  // namespace coz::report
