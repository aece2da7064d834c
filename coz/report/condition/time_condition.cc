#include "coz/report/condition/time_condition.h"

#include <regex>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

absl::Status NotACondition(const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--fail-if='", Printable(text),
      "' is no condition on two profiles; write one like 'time(requests) > 5%'; those on lines are "
      "of coz report --fail-if"));
}

}  // namespace

absl::StatusOr<TimeCondition> TimeCondition::Parse(const std::string& text) {
  // The name of a point may hold brackets: it ends at the last one before the comparison.
  static const std::regex* const kForm = new std::regex(
      R"(^\s*time(?:\.(value|low|high))?\s*\((.+)\)\s*(>=|<=|>|<)\s*(\S+(?:\s+%)?)\s*$)");
  std::smatch parts;
  // A regular expression takes long for a long text, and no condition is that long.
  if (text.size() > 1000 || !std::regex_match(text, parts, *kForm)) return NotACondition(text);
  const std::optional<Limit> limit = ParseLimit(parts[3], parts[4]);
  TimeCondition condition;
  condition.text_ = std::string(absl::StripAsciiWhitespace(text));
  condition.point_ = std::string(absl::StripAsciiWhitespace(parts[2].str()));
  if (!limit.has_value() || condition.point_.empty()) return NotACondition(text);
  condition.limit_ = *limit;
  condition.bound_ = parts[1] == "value"  ? Bound::kValue
                     : parts[1] == "low"  ? Bound::kLow
                     : parts[1] == "high" ? Bound::kHigh
                     : limit->IsAbove()   ? Bound::kLow
                                          : Bound::kHigh;
  return condition;
}

std::string TimeCondition::Sentence(const PointDiff& point, double change) const {
  const char* bound = bound_ == Bound::kLow    ? ", by the lower bound,"
                      : bound_ == Bound::kHigh ? ", by the upper bound,"
                                               : "";
  return absl::StrFormat("%s of %s takes%s %.1f %% %s time than before, so --fail-if='%s' holds",
                         point.is_latency ? "a request" : "a visit", Printable(point.name), bound,
                         100 * (change < 0 ? -change : change), change < 0 ? "less" : "more",
                         Printable(text_));
}

absl::StatusOr<std::optional<std::string>> TimeCondition::Find(const ProfileDiff& diff,
                                                               const Suggest& suggest) const {
  bool fits = false;
  bool has_figure = false;
  std::vector<std::string> names;
  for (const PointDiff& point : diff.points) {
    names.push_back(point.name);
    if (!MatchesName(point_, point.name)) continue;
    fits = true;
    if (!point.gain.has_value()) continue;
    has_figure = true;
    // A gain is time saved, so its bounds change places.
    const double change = bound_ == Bound::kValue ? -point.gain->value
                          : bound_ == Bound::kLow ? -point.gain->high
                                                  : -point.gain->low;
    if (limit_.Holds(change)) return Sentence(point, change);
  }
  if (has_figure) return std::optional<std::string>();
  if (fits) {
    return absl::NotFoundError(absl::StrCat(
        "--fail-if='", Printable(text_),
        "' fits only progress points whose time is not known in both profiles: they need two "
        "baselines in each; profile longer"));
  }
  return absl::NotFoundError(absl::StrCat("--fail-if='", Printable(text_),
                                          "' fits no progress point", suggest(point_, names)));
}

}  // namespace coz::report
