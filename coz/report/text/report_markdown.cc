#include "coz/report/text/report_markdown.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "coz/report/analysis/latency_summary.h"
#include "coz/report/text/report_notes.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/nothing_measured.h"
#include "coz/report/wording/point_kind_word.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/small_units.h"
#include "coz/report/wording/text_layout.h"
#include "coz/report/wording/unit_names.h"
#include "coz/report/wording/verdict.h"

namespace coz::report {
namespace {

// As plain text of a cell: names must not become markup.
std::string Cell(const std::string& text) {
  return absl::StrReplaceAll(
      Printable(text), {{"|", "\\|"}, {"<", "&lt;"}, {"*", "\\*"}, {"_", "\\_"}, {"\n", " "}});
}

// As code. A backquote would end it, and a bar the cell.
std::string Code(const std::string& text) {
  if (text.empty()) return "";
  return absl::StrCat("`", absl::StrReplaceAll(Printable(text), {{"|", "\\|"}, {"`", "'"}}), "`");
}

// "Set aside, with too little data for a figure: 4 lines: `a.cc:5` (73.1 %), `a.cc:6` (2.0 %), and
// 2 more"; "" where there are none. `max_lines` 0: all of them.
std::string SetAside(const PointAnalysis& point, const UnitNames& names, int max_lines) {
  constexpr size_t kNamed = 5;
  // Those of samples alone come last.
  const size_t count = point.set_aside.size() - CountSmall(point);
  if (count == 0) return "";
  const size_t named = max_lines == 0 ? count : std::min(count, kNamed);
  std::vector<std::string> rows;
  for (size_t i = 0; i < named; ++i) {
    const size_t unit = point.set_aside[i].unit;
    rows.push_back(absl::StrCat(Code(names.Place(unit)), " (", names.Share(unit), ")"));
  }
  return absl::StrCat("\nSet aside, with too little data for a figure: ", names.Count(count), ": ",
                      absl::StrJoin(rows, ", "),
                      named < count ? absl::StrCat(", and ", count - named, " more") : "", "\n");
}

// The sentence without the verdict, which has a column of its own.
std::string BesideVerdict(const LineAnalysis& line, const PointRow& row,
                          const VerdictContext& context) {
  std::string sentence = VerdictSentence(line, row, context);
  absl::string_view rest = sentence;
  if (!absl::ConsumePrefix(&rest, VerdictWord(line))) return sentence;
  if (rest.empty()) return "";
  if (!absl::ConsumePrefix(&rest, ", and ") && !absl::ConsumePrefix(&rest, ", ") &&
      !absl::ConsumePrefix(&rest, "; ") && !absl::ConsumePrefix(&rest, ": ")) {
    return sentence;
  }
  return std::string(rest);
}

// "**order** (latency): 900 visits, 5.87 ms on average; +10 % is a time that is 10 % shorter".
std::string PointHead(const PointAnalysis& point, const ExperimentTable& table) {
  const PointRow& row = table.points[point.point];
  std::string text = absl::StrCat("\n**", Cell(row.name), "** (", PointKindWord(row.kind),
                                  "): ", Counted(row.visits, "visit"));
  if (row.kind != profile::PROGRESS_POINT_KIND_LATENCY) return absl::StrCat(text, "\n");
  const double mean_ns = SummarizeLatency(table, point.point).mean_ns;
  if (std::isfinite(mean_ns)) absl::StrAppend(&text, ", ", Figure(mean_ns / 1e6), " ms on average");
  return absl::StrCat(text, "; +10 % is a time that is 10 % shorter\n");
}

void AddPoint(const PointAnalysis& point, const ExperimentTable& table, const UnitNames& names,
              const VerdictContext& context, int max_lines, std::string* text) {
  const PointRow& row = table.points[point.point];
  absl::StrAppend(text, PointHead(point, table));
  const size_t shown = max_lines > 0 ? std::min(point.lines.size(), static_cast<size_t>(max_lines))
                                     : point.lines.size();
  if (shown > 0) {
    absl::StrAppend(text, "\n| ", names.word(), " | | ", GainHead(),
                    " | samples | verdict | |\n|---|---|---|---:|---|---|\n");
  }
  for (size_t i = 0; i < shown; ++i) {
    const LineAnalysis& line = point.lines[i];
    absl::StrAppend(text, "| ", Code(names.Place(line.unit)), " | ", Code(names.Detail(line.unit)),
                    " | ", GainText(HeadlineOf(line)), " | ", names.Share(line.unit), " | ",
                    VerdictWord(line), " | ", Cell(BesideVerdict(line, row, context)), " |\n");
  }
  if (shown < point.lines.size()) {
    absl::StrAppend(text, "\nand ", names.Count(point.lines.size() - shown), " more\n");
  }
  absl::StrAppend(text, SetAside(point, names, max_lines));
  for (const std::string& sentence :
       {SmallUnits(point, names), Spread(point, *context.profile, names),
        Untried(point, *context.profile, table, names)}) {
    if (!sentence.empty()) absl::StrAppend(text, "\n", sentence, "\n");
  }
}

}  // namespace

std::string RenderMarkdown(const profile::Profile& profile, const ExperimentTable& table,
                           const Analysis& analysis, const ReadStats& stats, int max_lines) {
  std::string text =
      absl::StrFormat("### Causal profile of %s\n\n%.0f s, %s\n", Code(TargetTitle(profile)),
                      static_cast<double>(table.run_time_ns) / 1e9,
                      Counted(static_cast<uint64_t>(analysis.experiments), "experiment"));
  const auto nothing = FindNothingMeasured(profile, table, analysis);
  if (nothing.has_value()) {
    absl::StrAppend(&text, "\nNothing was measured: ", Cell(nothing->what), "; ", nothing->remedy,
                    "\n");
  } else {
    const UnitNames names(table);
    const VerdictContext context = {analysis.options, table.run_time_ns, &profile};
    for (const PointAnalysis& point : analysis.points) {
      AddPoint(point, table, names, context, max_lines, &text);
    }
    absl::StrAppend(&text, "\n", Capitalized(GainHead()),
                    ": how much faster the program gets when the ", names.word(),
                    " gets 30 % faster, with its 95 % interval.\n");
  }
  for (const std::string& note : ReportNotes(profile, table, analysis, stats)) {
    absl::StrAppend(&text, "\n> note: ", note, "\n");
  }
  return text;
}

}  // namespace coz::report
