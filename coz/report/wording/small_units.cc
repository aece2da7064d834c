#include "coz/report/wording/small_units.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/repeat_command.h"

namespace coz::report {
namespace {

// The next larger kind of unit as its option; "" where there is none.
std::string LargerUnit(const std::string& word) {
  if (word == "line") return "--unit=function";
  return word == "function" ? "--unit=file" : "";
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
  const std::string larger = LargerUnit(names.word());
  double share = 0;
  for (const LineAnalysis& line : point.lines) {
    if (line.verdict != Verdict::kNoEffect) return "";
    if (line.by_samples) share += names.ShareOf(line.unit);
  }
  for (const LineSetAside& line : point.set_aside) {
    if (line.reason == SetAsideReason::kSmall) share += names.ShareOf(line.unit);
  }
  if (share < kMost || larger.empty()) return "";
  return absl::StrFormat(
      "Together the small %s have %s %% of the samples; look at larger parts with `%s`",
      names.Plural(), PercentText(share), CommandWith(larger, profile));
}

std::string SmallLegend(const std::string& unit_word) {
  return absl::StrCat("at most 2 %, by its samples: the ", unit_word,
                      " takes too little CPU time to bring more, whatever experiments would say");
}

}  // namespace coz::report
