#include "coz/report/text/latency_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/analysis/latency_summary.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

std::string Milliseconds(double ns) { return absl::StrCat(Figure(ns / 1e6), " ms"); }

std::string Percentiles(const ExperimentTable& table, const PointAnalysis& point,
                        const UnitNames& names, size_t shown) {
  std::string text;
  const LatencyBySpeedup by_speedup(table, point.point);
  for (size_t i = 0; i < shown; ++i) {
    const LineAnalysis& line = point.lines[i];
    const double speedup = line.speedups[line.best].virtual_speedup;
    const LatencySummary then = by_speedup.Of(line.unit, speedup);
    if (!std::isfinite(then.p99_ns)) continue;
    absl::StrAppendFormat(&text, "  %s at %.0f %%: p50 %s, p99 %s\n", names.Place(line.unit),
                          100 * speedup, Milliseconds(then.median_ns), Milliseconds(then.p99_ns));
  }
  return text;
}

}  // namespace

std::string LatencyText(const ExperimentTable& table, const PointAnalysis& point,
                        const UnitNames& names, size_t shown) {
  const LatencySummary now = SummarizeLatency(table, point.point);
  if (!std::isfinite(now.mean_ns)) return "";
  std::string text = absl::StrFormat(
      "  %s: %s arrivals and %s departures a second, %s under way, latency %s on average",
      now.has_baseline ? "without speedup" : "at all speedups, as no experiment was without",
      Figure(now.arrivals_per_second, 4), Figure(now.departures_per_second, 4),
      Figure(now.in_flight), Milliseconds(now.mean_ns));
  if (std::isfinite(now.p99_ns)) {
    absl::StrAppend(&text, ", p50 ", Milliseconds(now.median_ns), ", p99 ",
                    Milliseconds(now.p99_ns));
  }
  absl::StrAppend(&text, "\n");
  const std::string error = ErrorOfLooks(now);
  if (!error.empty()) absl::StrAppend(&text, "  ", error, "\n");
  const std::string mismatch = MismatchOf(now);
  if (!mismatch.empty()) {
    absl::StrAppend(&text, "  ", mismatch, "\n");
  } else if (IsUnstable(now)) {
    absl::StrAppend(&text,
                    "  arrivals outrun departures: latency grows as long as this lasts, and its "
                    "figures say little; lower the load, or look at throughput\n");
  }
  return std::isfinite(now.p99_ns) ? absl::StrCat(text, Percentiles(table, point, names, shown))
                                   : text;
}

}  // namespace coz::report
