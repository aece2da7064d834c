#include "coz/report/text/live_table.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/text_layout.h"
#include "coz/report/wording/unit_names.h"
#include "coz/report/wording/verdict.h"

namespace coz::report {
namespace {

constexpr int kOtherColumns = 58;  // of a row, beside name and shape
constexpr int kWidthForShapes = 110;
constexpr int kLeastNameWidth = 12;

std::string Remaining(const std::optional<uint64_t>& ns) {
  if (!ns.has_value()) return "";
  const double seconds = static_cast<double>(*ns) / 1e9;
  if (seconds < 90) return absl::StrFormat(", about %.0f s more", std::max(1.0, seconds));
  if (seconds < 5400) return absl::StrFormat(", about %.0f min more", seconds / 60);
  return ", hours more";
}

std::string VerdictText(const LineAnalysis& line, const VerdictContext& context) {
  std::string word = VerdictWord(line);
  if (line.verdict != Verdict::kCannotTell) return word;
  return absl::StrCat(word, Remaining(RemainingNs(line, context)));
}

absl::string_view SetAsideWord(const LineSetAside& line) {
  if (line.reason == SetAsideReason::kNotKnown) return VerdictWord(Verdict::kCannotTell);
  if (line.reason == SetAsideReason::kSmall) return VerdictWord(Verdict::kNoEffect);
  if (line.reason == SetAsideReason::kNotTried) return "no experiment yet";
  return "too little data";
}

std::string Head(const AnalyzedProfile& whole, const PointRow* point) {
  if (point == nullptr) return "no progress point was visited yet";
  return absl::StrFormat("%s: %d visit%s, %d sample%s", Printable(point->name), point->visits,
                         point->visits == 1 ? "" : "s", whole.table.samples,
                         whole.table.samples == 1 ? "" : "s");
}

// Paths without their folders: the screen is narrow and seen by who runs the program.
std::string ShortName(const UnitRow& unit) {
  const std::string name = unit.Name();
  const bool is_path = !name.empty() && name.front() == '/';
  return Printable(is_path ? name.substr(name.rfind('/') + 1) : name);
}

}  // namespace

std::string RunSoFar(const AnalyzedProfile& whole) {
  const size_t experiments = whole.table.experiments.size();
  return absl::StrFormat("%.0f s, %d experiment%s",
                         static_cast<double>(whole.table.run_time_ns) / 1e9, experiments,
                         experiments == 1 ? "" : "s");
}

std::vector<std::string> LiveTable(const AnalyzedProfile& whole, int rows, int columns) {
  const PointAnalysis* point =
      whole.analysis.points.empty() ? nullptr : &whole.analysis.points.front();
  const PointRow* row = point == nullptr ? nullptr : &whole.table.points[point->point];
  if (row != nullptr && row->visits == 0) row = nullptr;
  std::vector<std::string> lines = {Head(whole, row)};
  if (row != nullptr) {
    VerdictContext context;
    context.options = whole.analysis.options;
    context.run_time_ns = whole.table.run_time_ns;
    const int name_width = std::max(kLeastNameWidth, columns - kOtherColumns);
    const auto L = Align::kLeft;
    const auto R = Align::kRight;
    const bool shapes = columns >= kWidthForShapes;
    TextTable table({R, L, L, L, L});
    table.AddRow(
        {"#", UnitNames(whole.table).word(), GainHead(), shapes ? "shape" : "", "verdict"});
    for (size_t i = 0; i < point->lines.size() && static_cast<int>(i) < rows - 2; ++i) {
      const LineAnalysis& line = point->lines[i];
      table.AddRow(
          {absl::StrCat(i + 1), ElidePath(ShortName(whole.table.units[line.unit]), name_width),
           GainText(HeadlineOf(line)), shapes ? ShapeText(line) : "", VerdictText(line, context)});
    }
    const int left = rows - 2 - static_cast<int>(point->lines.size());
    for (int i = 0; i < left && i < static_cast<int>(point->set_aside.size()); ++i) {
      const LineSetAside& line = point->set_aside[static_cast<size_t>(i)];
      const bool is_small = line.reason == SetAsideReason::kSmall;
      table.AddRow({"-", ElidePath(ShortName(whole.table.units[line.unit]), name_width),
                    is_small ? GainText(HeadlineOfLimit(line.gain_limit)) : "", "",
                    absl::StrCat(SetAsideWord(line), Remaining(RemainingNs(line, context)))});
    }
    for (absl::string_view text : absl::StrSplit(table.Render(0), '\n', absl::SkipEmpty())) {
      lines.emplace_back(text);
    }
  }
  if (static_cast<int>(lines.size()) > rows) lines.resize(static_cast<size_t>(std::max(0, rows)));
  for (std::string& line : lines) line = ElideEnd(line, columns);
  return lines;
}

}  // namespace coz::report
