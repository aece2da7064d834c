#include "coz/report/text/set_aside_text.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/small_units.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

// Columns of a row: all but the place and what it lacks; then these two.
constexpr int kSetAsideColumns = 24;
constexpr int kMinPlace = 20;
constexpr int kLacksColumns = 52;

std::string Lacks(const LineSetAside& line, uint64_t min_visits) {
  switch (line.reason) {
    case SetAsideReason::kNoBaseline:
      return "no experiment at 0 %";
    case SetAsideReason::kFewSpeedups:
      return absl::StrFormat("needs %d more speedup value%s", line.missing_speedups,
                             line.missing_speedups == 1 ? "" : "s");
    case SetAsideReason::kFewVisits:
      return absl::StrCat("fewer than ", min_visits, " visits to the point in each experiment");
    case SetAsideReason::kNeverActive:
      return "not active in its experiments";
    case SetAsideReason::kNoFit:
      return "too few experiments for a slope";
    case SetAsideReason::kNotKnown:
      return "not yet known";
    case SetAsideReason::kSmall:
      return "no gain";
  }
  return "";
}

absl::string_view ReasonInWords(SetAsideReason reason) {
  switch (reason) {
    case SetAsideReason::kNoBaseline:
      return "no experiment at 0 %";
    case SetAsideReason::kFewSpeedups:
      return "too few speedup values";
    case SetAsideReason::kFewVisits:
      return "too few visits in an experiment";
    case SetAsideReason::kNeverActive:
      return "not active in their experiments";
    case SetAsideReason::kNoFit:
      return "too few experiments for a slope";
    case SetAsideReason::kNotKnown:
      return "slope not yet known";
    case SetAsideReason::kSmall:
      return "no gain";
  }
  return "";
}

std::string Advice(const LineSetAside& first, const profile::Profile& profile,
                   const UnitNames& names) {
  if (first.reason == SetAsideReason::kFewVisits) {
    return "run longer, or put a progress point where it is visited more often";
  }
  const profile::Options options =
      profile.session_size() == 0 ? profile::Options() : profile.session(0).options();
  const char* more = options.end_to_end() ? "make more runs, with --repeat=40" : "run longer";
  if (!names.IsLine(first.unit)) return more;
  return absl::StrCat(more, ", or look at one line with `",
                      Printable(FixedUnitCommand(options, names.Place(first.unit))),
                      TargetWords(profile), "`");
}

bool IsSmall(const LineSetAside& line) { return line.reason == SetAsideReason::kSmall; }

std::string LackingText(const std::vector<LineSetAside>& lines, const profile::Profile& profile,
                        const UnitNames& names, uint64_t min_visits, const TextOptions& options) {
  std::map<SetAsideReason, size_t> reasons;
  for (const LineSetAside& line : lines) ++reasons[line.reason];
  std::string text = absl::StrCat("  Set aside: ");
  const char* separator = "";
  for (const auto& [reason, n] : reasons) {
    absl::StrAppend(&text, separator, names.Count(n), ", ", ReasonInWords(reason));
    separator = "; ";
  }
  absl::StrAppend(&text, "\n");
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  const size_t all = lines.size();
  const size_t shown =
      options.max_set_aside > 0 ? std::min(all, static_cast<size_t>(options.max_set_aside)) : all;
  const int room = options.width - kSetAsideColumns;
  const int place = std::max(kMinPlace, room - kLacksColumns);
  for (size_t i = 0; i < shown; ++i) {
    const LineSetAside& line = lines[i];
    table.AddRow({names.ShortPlace(line.unit, place), names.Share(line.unit),
                  absl::StrCat(line.experiments, " exp."),
                  ElideEnd(Lacks(line, min_visits), room - place)});
  }
  absl::StrAppend(&text, table.Render(4));
  absl::StrAppend(&text, "    next: ", Advice(lines.front(), profile, names), "\n");
  return text;
}

}  // namespace

std::string SetAsideText(const PointAnalysis& point, const profile::Profile& profile,
                         const UnitNames& names, uint64_t min_visits, const TextOptions& options) {
  const auto small = std::find_if(point.set_aside.begin(), point.set_aside.end(),
                                  [](const LineSetAside& line) { return IsSmall(line); });
  const std::vector<LineSetAside> lacking(point.set_aside.begin(), small);
  std::string text;
  if (!lacking.empty()) text = LackingText(lacking, profile, names, min_visits, options);
  for (const std::string& sentence : {SmallUnits(point, names), Spread(point, profile, names)}) {
    if (!sentence.empty()) absl::StrAppend(&text, "  ", sentence, "\n");
  }
  return text;
}

}  // namespace coz::report
