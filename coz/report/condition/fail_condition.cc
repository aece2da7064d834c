#include "coz/report/condition/fail_condition.h"

#include <fnmatch.h>

#include <cmath>
#include <cstdlib>
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
#include "coz/report/text/text_layout.h"

namespace coz::report {
namespace {

// fnmatch's other characters are ordinary ones in names: ?, [ and backslash.
std::string Escaped(const std::string& pattern) {
  std::string result;
  for (char c : pattern) {
    if (c == '?' || c == '[' || c == '\\') result.push_back('\\');
    result.push_back(c);
  }
  return result;
}

std::string Trimmed(const std::string& text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

absl::Status NotASelector(const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--fail-if='", Printable(text),
      "' is no condition; write one like 'slope(server.cpp:12) > 0.3' or 'best(requests, "
      "decode.cc:*) >= 10%'"));
}

}  // namespace

bool MatchesName(const std::string& pattern, const std::string& name) {
  const std::string escaped = Escaped(pattern);
  return fnmatch(escaped.c_str(), name.c_str(), 0) == 0 ||
         fnmatch(absl::StrCat("*/", escaped).c_str(), name.c_str(), 0) == 0 ||
         fnmatch(absl::StrCat("*::", escaped).c_str(), name.c_str(), 0) == 0;
}

absl::StatusOr<Selector> Selector::Parse(const std::string& text) {
  // Names may hold commas and brackets (functions): the first comma outside of brackets ends the point's name, and the last
  // bracket before the comparison the unit's. A regular expression over a long text is slow, and no condition is long.
  static const std::regex* const kForm = new std::regex(
      R"(^\s*(slope|best)(?:\.(value|low|high))?\s*\((.+)\)\s*(>=|<=|>|<)\s*(\S+)\s*$)");
  std::smatch parts;
  if (text.size() > 1000 || !std::regex_match(text, parts, *kForm)) return NotASelector(text);
  Selector selector;
  selector.text_ = Trimmed(text);
  selector.figure_ = parts[1] == "slope" ? Figure::kSlope : Figure::kBest;
  selector.comparison_ = parts[4];
  const bool is_above = selector.comparison_[0] == '>';
  selector.bound_ = parts[2] == "value"  ? Bound::kValue
                    : parts[2] == "low"  ? Bound::kLow
                    : parts[2] == "high" ? Bound::kHigh
                    : is_above           ? Bound::kLow
                                         : Bound::kHigh;
  const std::string names = parts[3];
  int depth = 0;
  size_t comma = std::string::npos;
  for (size_t i = 0; i < names.size() && comma == std::string::npos; ++i) {
    if (names[i] == '(' || names[i] == '<') ++depth;
    if (names[i] == ')' || names[i] == '>') --depth;
    if (names[i] == ',' && depth == 0) comma = i;
  }
  if (comma != std::string::npos) selector.point_ = Trimmed(names.substr(0, comma));
  selector.units_ = Trimmed(comma == std::string::npos ? names : names.substr(comma + 1));
  const std::string number = parts[5];
  char* end = nullptr;
  selector.limit_ = strtod(number.c_str(), &end);
  const bool percent = *end == '%' && end[1] == '\0';
  if (end == number.c_str() || (*end != '\0' && !percent) || !std::isfinite(selector.limit_) ||
      selector.units_.empty()) {
    return NotASelector(text);
  }
  if (percent) selector.limit_ /= 100;
  return selector;
}

double Selector::FigureOf(const LineAnalysis& line) const {
  if (figure_ == Figure::kBest && line.speedups.empty()) return std::nan("");
  const Estimate& e =
      figure_ == Figure::kSlope ? line.slope : line.speedups[line.best].program_speedup;
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

bool Selector::Holds(double figure) const {
  if (comparison_ == ">") return figure > limit_;
  if (comparison_ == ">=") return figure >= limit_;
  if (comparison_ == "<") return figure < limit_;
  return figure <= limit_;
}

absl::StatusOr<std::vector<const PointAnalysis*>> Selector::Points(const ExperimentTable& table,
                                                                   const Analysis& analysis,
                                                                   const Suggest& suggest) const {
  std::vector<const PointAnalysis*> points;
  std::vector<std::string> names;
  for (const PointAnalysis& point : analysis.points) {
    names.push_back(table.points[point.point].name);
    if (point_.empty() ? points.empty() : MatchesName(point_, names.back())) {
      points.push_back(&point);
    }
  }
  if (!points.empty()) return points;
  if (names.empty()) {
    return absl::NotFoundError(
        absl::StrCat("--fail-if='", Printable(text_),
                     "' selects nothing, for the profile has no progress point"));
  }
  return absl::NotFoundError(absl::StrCat("--fail-if='", Printable(text_),
                                          "' selects no progress point", suggest(point_, names)));
}

std::string Selector::Sentence(const UnitRow& unit, const PointRow& point, double figure) const {
  const char* bound = bound_ == Bound::kLow    ? "the lower bound of "
                      : bound_ == Bound::kHigh ? "the upper bound of "
                                               : "";
  const std::string what =
      figure_ == Figure::kSlope
          ? absl::StrFormat("%sthe slope of %s at %s is %.3f", bound, Printable(unit.Name()),
                            Printable(point.name), figure)
          : absl::StrFormat("%sthe best predicted program speedup of %s at %s is %.1f %%", bound,
                            Printable(unit.Name()), Printable(point.name), 100 * figure);
  return absl::StrCat(what, ", so --fail-if='", Printable(text_), "' holds");
}

absl::StatusOr<std::optional<std::string>> Selector::Find(const ExperimentTable& table,
                                                          const Analysis& analysis,
                                                          const Suggest& suggest) const {
  const auto points = Points(table, analysis, suggest);
  if (!points.ok()) return points.status();
  bool has_figure = false;
  std::string set_aside;
  std::vector<std::string> names;
  for (const PointAnalysis* point : *points) {
    for (const LineAnalysis& line : point->lines) {
      const UnitRow& unit = table.units[line.unit];
      names.push_back(unit.Name());
      if (!MatchesName(units_, unit.Name())) continue;
      has_figure = true;
      const double figure = FigureOf(line);
      if (Holds(figure)) return Sentence(unit, table.points[point->point], figure);
    }
    for (const LineSetAside& line : point->set_aside) {
      const std::string name = table.units[line.unit].Name();
      names.push_back(name);
      if (MatchesName(units_, name)) set_aside = name;
    }
  }
  if (has_figure) return std::optional<std::string>();
  if (!set_aside.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "--fail-if='", Printable(text_), "' selects only units without a figure, such as ",
        Printable(set_aside), "; profile longer, with `coz run --until=20` for example"));
  }
  return absl::NotFoundError(absl::StrCat(
      "--fail-if='", Printable(text_), "' selects nothing in the profile", suggest(units_, names)));
}

}  // namespace coz::report
