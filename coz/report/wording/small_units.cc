#include "coz/report/wording/small_units.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/analysis/quoted_gain.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/repeat_command.h"

namespace coz::report {
namespace {

// The next larger kind of unit, of functions that symbols alone name the library; none: unknown.
profile::UnitKind LargerUnit(const UnitNames& names) {
  if (names.word() == "line") return profile::UNIT_KIND_FUNCTION;
  if (names.word() != "function") return profile::UNIT_KIND_UNKNOWN;
  return names.HasFiles() ? profile::UNIT_KIND_FILE : profile::UNIT_KIND_LIBRARY;
}

// Units without rows that have fewer of the samples together are left out.
constexpr double kLeastTogether = 0.02;
// From here on a longer run would be long: each of the units has few experiments.
constexpr double kManyTogether = 0.1;

bool TriesOnlyFixed(const profile::Profile& profile) {
  return profile.session_size() != 0 &&
         std::none_of(profile.session().begin(), profile.session().end(),
                      [](const profile::Session& session) {
                        return session.options().fixed_line_size() == 0;
                      });
}

}  // namespace

size_t CountSmall(const PointAnalysis& point) {
  return static_cast<size_t>(std::count_if(
      point.set_aside.begin(), point.set_aside.end(),
      [](const LineSetAside& line) { return line.reason == SetAsideReason::kSmall; }));
}

std::string SmallUnits(const PointAnalysis& point, const UnitNames& names) {
  const size_t count = CountSmall(point);
  if (count == 0) return "";
  double most = 0;
  for (const LineSetAside& line : point.set_aside) {
    if (line.reason == SetAsideReason::kSmall) most = std::max(most, line.gain_limit);
  }
  return absl::StrFormat("No gain: %s %s so little CPU time that %s, made %s %% faster, brings %s",
                         names.Count(count), count == 1 ? "takes" : "take",
                         count == 1 ? "it" : "each", PercentText(kQuotedSpeedup),
                         GainText(HeadlineOfLimit(most)));
}

std::string Spread(const PointAnalysis& point, const profile::Profile& profile,
                   const UnitNames& names) {
  constexpr double kMost = 0.5;
  const profile::UnitKind larger = LargerUnit(names);
  double share = 0;
  for (const LineAnalysis& line : point.lines) {
    if (line.verdict != Verdict::kNoEffect) return "";
    if (line.by_samples) share += names.ShareOf(line.unit);
  }
  for (const LineSetAside& line : point.set_aside) {
    if (line.reason == SetAsideReason::kSmall) share += names.ShareOf(line.unit);
  }
  if (share < kMost || larger == profile::UNIT_KIND_UNKNOWN) return "";
  return absl::StrFormat(
      "Together the small %s have %s %% of the samples; look at larger parts with `%s`",
      names.Plural(), PercentText(share), CommandByUnit(larger, profile));
}

std::string Untried(const PointAnalysis& point, const profile::Profile& profile,
                    const ExperimentTable& table, const UnitNames& names) {
  if (TriesOnlyFixed(profile)) return "";
  std::vector<bool> is_told(table.units.size());
  for (const LineAnalysis& line : point.lines) is_told[line.unit] = true;
  for (const LineSetAside& line : point.set_aside) is_told[line.unit] = true;
  size_t count = 0;
  double share = 0;
  for (size_t unit = 0; unit < table.units.size(); ++unit) {
    const double one = names.ShareOf(unit);
    if (is_told[unit] || one == 0 || one >= kLeastShareOfRow) continue;
    ++count;
    share += one;
  }
  if (share < kLeastTogether) return "";
  const profile::UnitKind larger = LargerUnit(names);
  const bool run_longer = share < kManyTogether || larger == profile::UNIT_KIND_UNKNOWN;
  return absl::StrFormat(
      "Not tried yet: %s, each with less than %s %% of the samples, %s %s %% together; %s",
      names.Count(count), PercentText(kLeastShareOfRow), count == 1 ? "has" : "have",
      PercentText(share),
      run_longer
          ? std::string("run longer")
          : absl::StrCat("look at larger parts with `", CommandByUnit(larger, profile), "`"));
}

std::string SmallLegend(const std::string& unit_word) {
  return absl::StrCat("at most 2 %, by its samples: the ", unit_word,
                      " takes too little CPU time to bring more, whatever experiments would say");
}

}  // namespace coz::report
