#include "coz/report/text/set_aside_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/small_units.h"
#include "coz/report/wording/text_layout.h"
#include "coz/report/wording/verdict.h"

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
    case SetAsideReason::kNotTried:
      return "no experiment yet";
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
    case SetAsideReason::kNotTried:
      return "not tried yet";
  }
  return "";
}

// Of the units that a longer run may decide, that with most samples. `first` is it among those that
// are set aside.
size_t MostOpenUnit(const PointAnalysis& point, const LineSetAside& first, const UnitNames& names,
                    const VerdictContext& context) {
  size_t most = first.unit;
  for (const LineAnalysis& line : point.lines) {
    if (RemainingNs(line, context).has_value() && names.ShareOf(line.unit) > names.ShareOf(most))
      most = line.unit;
  }
  return most;
}

std::string HowToGoOn(const profile::Options& options, const profile::Profile& profile,
                      const std::string& path) {
  constexpr double kSoonS = 30;
  constexpr uint32_t kRuns = 20;
  constexpr uint32_t kRunsEndToEnd = 40;
  const auto runs = [&](uint32_t least) {
    return absl::StrCat("make more runs, with `",
                        CommandToAdd(path, std::max(least, options.repeat()), profile.session(0)),
                        "`");
  };
  if (options.end_to_end()) return runs(kRunsEndToEnd);
  const double run_s = SecondsUntilItEnds(profile);
  if (run_s <= 0 || run_s > kSoonS) return "run longer";
  return runs(kRuns);
}

std::string Advice(const PointAnalysis& point, const LineSetAside& first,
                   const profile::Profile& profile, const ExperimentTable& table,
                   const UnitNames& names, const std::string& path) {
  if (first.reason == SetAsideReason::kFewVisits) {
    return "run longer, or put a progress point where it is visited more often";
  }
  const profile::Options options =
      profile.session_size() == 0 ? profile::Options() : profile.session(0).options();
  std::string more = HowToGoOn(options, profile, path);
  const size_t unit = MostOpenUnit(point, first, names, {{}, table.run_time_ns, &profile});
  // A line that was never sampled cannot be sped up alone either.
  if (!names.IsLine(unit) || names.ShareOf(unit) == 0) return more;
  return absl::StrCat(more, ", or look at one line with `",
                      Printable(FixedUnitCommand(options, names.Place(unit))), TargetWords(profile),
                      "`");
}

// Of a profile that has only baselines.
std::string CommandForGains(const profile::Profile& profile) {
  profile::Session session = profile.session(0);
  session.mutable_options()->clear_fixed_virtual_speedup();
  return Printable(CommandAgain(session));
}

bool IsSmall(const LineSetAside& line) { return line.reason == SetAsideReason::kSmall; }

// How many of the rows are shown.
size_t AsideShown(size_t rows, const TextOptions& options) {
  const bool all = options.max_lines == 0 || options.max_set_aside == 0;
  return all ? rows : std::min(rows, static_cast<size_t>(options.max_set_aside));
}

// "and 7 lines more, with 5.0 % of the samples"; "" where all are shown.
std::string NotShown(const std::vector<LineSetAside>& lines, size_t shown, const UnitNames& names) {
  if (shown >= lines.size()) return "";
  double share = 0;
  for (size_t i = shown; i < lines.size(); ++i) share += names.ShareOf(lines[i].unit);
  return absl::StrFormat("    and %s more, with %.1f %% of the samples: `coz report --lines=0`\n",
                         names.Count(lines.size() - shown), 100 * share);
}

std::string LackingText(const PointAnalysis& point, const std::vector<LineSetAside>& lines,
                        const profile::Profile& profile, const ExperimentTable& table,
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
  TextTable rows({Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  const size_t shown = AsideShown(lines.size(), options);
  const int room = options.width - kSetAsideColumns;
  const int place = std::max(kMinPlace, room - kLacksColumns);
  for (size_t i = 0; i < shown; ++i) {
    const LineSetAside& line = lines[i];
    rows.AddRow({names.ShortPlace(line.unit, place), names.Share(line.unit),
                 absl::StrCat(line.experiments, " exp."),
                 ElideEnd(Lacks(line, min_visits), room - place)});
  }
  absl::StrAppend(&text, rows.Render(4), NotShown(lines, shown, names));
  absl::StrAppend(
      &text, "    next: ", Advice(point, lines.front(), profile, table, names, options.path), "\n");
  return text;
}

}  // namespace

std::string SetAsideText(const PointAnalysis& point, const profile::Profile& profile,
                         const ExperimentTable& table, const UnitNames& names, uint64_t min_visits,
                         const TextOptions& options) {
  const auto small = std::find_if(point.set_aside.begin(), point.set_aside.end(),
                                  [](const LineSetAside& line) { return IsSmall(line); });
  const std::vector<LineSetAside> lacking(point.set_aside.begin(), small);
  std::string text;
  std::string untried;
  if (MakesBaselinesAlone(profile)) {
    text = absl::StrCat("  Only baselines were to be made, by --fixed-speedup=0, so nothing has a ",
                        "gain; for gains: `", CommandForGains(profile), "`\n");
  } else {
    if (!lacking.empty())
      text = LackingText(point, lacking, profile, table, names, min_visits, options);
    untried = Untried(point, profile, table, names);
  }
  for (const std::string& sentence :
       {SmallUnits(point, names), Spread(point, profile, names), untried}) {
    if (!sentence.empty()) absl::StrAppend(&text, "  ", sentence, "\n");
  }
  return text;
}

}  // namespace coz::report
