#include "coz/report/text/report_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/latency_summary.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/curve.h"
#include "coz/report/text/latency_text.h"
#include "coz/report/text/path_tree.h"
#include "coz/report/text/report_columns.h"
#include "coz/report/text/report_notes.h"
#include "coz/report/text/set_aside_text.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/nothing_measured.h"
#include "coz/report/wording/point_kind_word.h"
#include "coz/report/wording/small_units.h"
#include "coz/report/wording/text_layout.h"
#include "coz/report/wording/unit_names.h"
#include "coz/report/wording/verdict.h"

namespace coz::report {
namespace {

// --verbose tells achieved speedups and visits too where the terminal has so many columns.
constexpr int kWidthForAchieved = 64;
// A tree of call paths has intervals from here on.
constexpr int kWidthForTree = 72;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// "-0.00" would look like a finding.
std::string Fixed(double value, int digits) {
  const double scale = std::pow(10, digits);
  const double rounded = std::round(value * scale) / scale;
  return absl::StrFormat("%.*f", digits, rounded == 0 ? 0.0 : rounded);
}

std::string Signed(double value) {
  const std::string text = Fixed(value, 0);
  return text == "0" || text[0] == '-' ? text : absl::StrCat("+", text);
}

// Program speedup at line speedups of 10 % to 100 %, as blocks between `low` (an empty one) and
// `high`.
std::string Plot(const Curve& curve, double low, double high) {
  static constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string plot;
  if (curve.points.empty() || !(high > low)) return plot;
  for (int i = 1; i <= kPlotColumns; ++i) {
    const double speedup = static_cast<double>(i) / kPlotColumns;
    if (speedup > curve.points.back().virtual_speedup + 1e-9) break;
    const double share = (curve.At(speedup).value - low) / (high - low);
    plot += kBlocks[std::clamp(static_cast<int>(std::lround(share * 7)), 0, 7)];
  }
  return plot;
}

// What an escape sequence does to the terminal, around `text`.
std::string Painted(absl::string_view text, absl::string_view code) {
  return absl::StrCat("\033[", code, "m", text, "\033[0m");
}

absl::string_view ColorOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "1;32";
    case Verdict::kSlower:
      return "1;31";
    case Verdict::kNoEffect:
      return "2";
    case Verdict::kCannotTell:
      return "33";
  }
  return "";
}

class PointRenderer {
 public:
  PointRenderer(const profile::Profile& profile, const ExperimentTable& table,
                const Analysis& analysis, const TextOptions& options)
      : profile_(profile),
        table_(table),
        analysis_(analysis),
        options_(options),
        min_visits_(analysis.options.min_visits),
        names_(table) {}

  const std::string& UnitWord() const { return names_.word(); }

  std::string Render(const PointAnalysis& point) const {
    const PointRow& row = table_.points[point.point];
    std::string text = absl::StrFormat(
        "\n%sProgress point %s%s (%s): %d %s%s\n", options_.color ? "\033[1m" : "",
        Printable(row.name), options_.color ? "\033[0m" : "", PointKindWord(row.kind), row.visits,
        row.visits == 1 ? "visit" : "visits",
        row.counted_by.empty() ? "" : absl::StrCat(", counted by ", row.counted_by));
    const std::string there = WhenThere(row, point);
    if (!there.empty()) absl::StrAppend(&text, "  ", there, "\n");
    absl::StrAppend(&text, CostLines(point));
    if (row.kind == profile::PROGRESS_POINT_KIND_LATENCY) {
      absl::StrAppend(&text, LatencyText(table_, point, names_, Shown(point.lines.size())));
    }
    const auto not_used = [&text](int count, const std::string& why) {
      if (count == 0) return;
      absl::StrAppend(&text, "  ", Counted(static_cast<uint64_t>(count), "experiment"), " ", why,
                      count == 1 ? " and is" : " and are", " not used for it\n");
    };
    not_used(point.low_visit_experiments,
             absl::StrFormat("had fewer than %d visits", static_cast<int>(min_visits_)));
    not_used(point.idle_experiments, "saw no request under way");
    if (!point.lines.empty()) {
      absl::StrAppend(&text, Table(point), Phases(point), PathTree(point));
    }
    return absl::StrCat(text, SetAsideText(point, profile_, table_, names_, min_visits_, options_));
  }

 private:
  // What counting by the kernel and sampling take of the program's time, where it matters.
  std::string CostLines(const PointAnalysis& point) const {
    std::string text;
    const PointRow& row = table_.points[point.point];
    for (const std::string& cost : {CostOfCounting(row, table_.run_time_ns),
                                    SlowdownBesideBreakpoint(row), CostOfSampling(point)}) {
      if (!cost.empty()) absl::StrAppend(&text, "  ", cost, "\n");
    }
    return text;
  }

  size_t Shown(size_t n) const {
    return options_.max_lines > 0 ? std::min(n, static_cast<size_t>(options_.max_lines)) : n;
  }

  std::string Gain(const LineAnalysis& line, bool interval) const {
    Headline headline = HeadlineOf(line);
    if (!interval) headline.program_speedup.low = -kInfinity;
    return absl::StrCat(GainText(headline), line.phase_factor == 1 ? "" : "*");
  }

  TableColumns Columns(const PointAnalysis& point, size_t shown) const {
    ColumnWidths wanted = {4, 8, 0, 0, 0};
    for (size_t i = 0; i < shown; ++i) {
      const LineAnalysis& line = point.lines[i];
      const auto widen = [](int* width, const std::string& text) {
        *width = std::max(*width, DisplayWidth(text));
      };
      widen(&wanted.place, names_.Place(line.unit));
      widen(&wanted.function, names_.Detail(line.unit));
      widen(&wanted.gain, Gain(line, true));
      widen(&wanted.shape, ShapeText(line));
      wanted.source = std::max(wanted.source, names_.SourceWidth(line.unit));
    }
    wanted.source_is_place = DetailHead(names_.word()) == "function";
    const int digits = static_cast<int>(absl::StrCat(shown).size());
    return ChooseColumns(options_.width - (digits - 1), wanted, options_.verbose);
  }

  std::string Table(const PointAnalysis& point) const {
    const size_t shown = Shown(point.lines.size());
    const TableColumns columns = Columns(point, shown);
    const auto only_if = [](bool has, std::string text) { return has ? std::move(text) : ""; };
    const auto L = Align::kLeft;
    const auto R = Align::kRight;
    const auto [low, high] = PlotRange(point, shown);
    TextTable table({R, L, L, L, L, L, R, R, L});
    table.AddRow({"#", names_.word(), only_if(columns.function > 0, DetailHead(names_.word())),
                  GainHead(), only_if(columns.shape, "shape"), "",
                  only_if(columns.samples, "samples"), only_if(columns.experiments, "exp."),
                  "verdict"});
    for (size_t i = 0; i < shown; ++i) {
      const LineAnalysis& line = point.lines[i];
      table.AddRow({absl::StrCat(i + 1), names_.ShortPlace(line.unit, columns.place),
                    names_.ShortDetail(line.unit, columns.function), Gain(line, columns.interval),
                    only_if(columns.shape, ShapeText(line)),
                    only_if(columns.plot, Plot(line.curve, low, high)),
                    only_if(columns.samples, names_.Share(line.unit)),
                    only_if(columns.experiments, Experiments(line)), VerdictWord(line)});
    }
    std::string text;
    if (!names_.folder().empty()) {
      absl::StrAppend(&text, "  ", names_.Plural(), " are in ", Printable(names_.folder()), "\n");
    }
    absl::StrAppend(&text, WithDetails(table.Render(1), point));
    if (columns.plot) {
      absl::StrAppendFormat(&text,
                            "  plots: program speedup when the %s gets 10 %% to 100 %% faster, "
                            "▁ is %s %%%s, █ is %s %%\n",
                            names_.word(), Signed(100 * low), low == -1 ? " or less" : "",
                            Signed(100 * high));
    }
    if (!columns.shape) absl::StrAppend(&text, Bends(point, shown));
    if (shown < point.lines.size()) {
      absl::StrAppend(&text, "  and ", names_.Count(point.lines.size() - shown),
                      " more: `coz report --lines=0` shows all\n");
    }
    return text;
  }

  std::string PathTree(const PointAnalysis& point) const {
    std::map<size_t, PathFigures> figures;
    for (const LineAnalysis& line : point.lines) {
      figures[line.unit] = {Gain(line, options_.width >= kWidthForTree), VerdictWord(line)};
    }
    return PathTreeText(table_, figures, options_.width);
  }

  // Where the terminal has no room for a column of shapes, a bend must still not be missed.
  std::string Bends(const PointAnalysis& point, size_t shown) const {
    std::string text;
    for (size_t i = 0; i < shown; ++i) {
      const std::string beyond = HeadlineOf(point.lines[i]).beyond;
      if (!beyond.empty()) {
        absl::StrAppend(&text, "  ", names_.Place(point.lines[i].unit), ": ", beyond, "\n");
      }
    }
    return text;
  }

  // At 0 %, and at other speedups.
  static std::string Experiments(const LineAnalysis& line) {
    return absl::StrCat(line.baselines + line.pooled_baselines, "+", line.others);
  }

  // One range for all lines, so that plots can be compared. At least ten points, so that noise does
  // not look like mountains. No loss beyond 100 %, so that one line does not flatten the others.
  std::pair<double, double> PlotRange(const PointAnalysis& point, size_t shown) const {
    double low = 0;
    double high = 0.1;
    for (size_t i = 0; i < shown; ++i) {
      for (const CurvePoint& p : point.lines[i].curve.points) {
        low = std::max(-1.0, std::min(low, p.program_speedup.value));
        high = std::max(high, p.program_speedup.value);
      }
    }
    return {low, high};
  }

  // The table's rows with colour, and with what --verbose adds below each. The verdict is the last
  // column.
  std::string WithDetails(const std::string& table, const PointAnalysis& point) const {
    if (!options_.color && !options_.verbose) return table;
    std::string text;
    size_t row = 0;
    for (absl::string_view shown : absl::StrSplit(table, '\n', absl::SkipEmpty())) {
      if (row++ == 0) {
        absl::StrAppend(&text, options_.color ? Painted(shown, "1") : std::string(shown), "\n");
        continue;
      }
      const LineAnalysis& line = point.lines[row - 2];
      const std::string word = VerdictWord(line);
      if (options_.color) {
        absl::StrAppend(&text, shown.substr(0, shown.size() - word.size()),
                        Painted(word, ColorOf(line.verdict)), "\n");
      } else {
        absl::StrAppend(&text, shown, "\n");
      }
      if (options_.verbose) absl::StrAppend(&text, Details(line, table_.points[point.point]));
    }
    return text;
  }

  std::string Details(const LineAnalysis& line, const PointRow& point) const {
    const VerdictContext context = {analysis_.options, table_.run_time_ns, &profile_};
    std::string text = absl::StrFormat(
        "      %s\n      slope %s %s%s; p-value %.2g, q-value %.2g\n",
        VerdictSentence(line, point, context), Fixed(line.slope.value, 2), PlusMinus(line.slope),
        line.curve.bend.has_value() ? " on average, for the curve bends" : "", line.p_value,
        line.q_value);
    if (line.phase_factor != 1) {
      absl::StrAppendFormat(&text, "      while active slope %s %s\n",
                            Fixed(line.slope_while_active.value, 2),
                            PlusMinus(line.slope_while_active));
    }
    const auto R = Align::kRight;
    TextTable table({R, R, R, Align::kLeft, R, R});
    const bool wide = options_.width >= kWidthForAchieved;
    table.AddRow({"speedup", wide ? "achieved" : "", "program", "95 % interval", "exp.",
                  wide ? "visits" : ""});
    for (const SpeedupEstimate& s : line.speedups) {
      const Estimate& e = s.program_speedup;
      table.AddRow({absl::StrFormat("%.0f %%", 100 * s.virtual_speedup),
                    wide ? absl::StrFormat("%.1f %%", 100 * s.achieved_virtual_speedup) : "",
                    absl::StrCat(Signed(100 * e.value), " %"),
                    std::isfinite(e.low)
                        ? absl::StrCat(Signed(100 * e.low), " to ", Signed(100 * e.high))
                        : "?",
                    absl::StrCat(s.experiments), wide ? absl::StrFormat("%.0f", s.visits) : ""});
    }
    return absl::StrCat(text, table.Render(6));
  }

  std::string Phases(const PointAnalysis& point) const {
    std::string text;
    for (size_t i = 0; i < Shown(point.lines.size()); ++i) {
      const LineAnalysis& line = point.lines[i];
      if (line.phase_factor == 1) continue;
      absl::StrAppendFormat(
          &text,
          "  * %s: what it brings while it is active, times %.2f for its share of the "
          "whole run\n",
          names_.Place(line.unit), line.phase_factor);
    }
    return text;
  }

  const profile::Profile& profile_;
  const ExperimentTable& table_;
  const Analysis& analysis_;
  const TextOptions& options_;
  const uint64_t min_visits_;
  const UnitNames names_;
};

// How verdicts allow for the number of lines that were looked at.
std::string FalseDiscoveries(const Analysis& analysis) {
  size_t most = 0;
  for (const PointAnalysis& point : analysis.points) most = std::max(most, point.lines.size());
  if (most < 2) return "";
  return absl::StrFormat(
      "worth it, hurts: at most %.0f %% of these verdicts are luck, of %d lines looked at "
      "(Benjamini-Hochberg)\n",
      100 * analysis.options.false_discovery_rate, most);
}

// Whether a row of a table says "by its samples".
bool HasLimits(const Analysis& analysis) {
  return std::any_of(analysis.points.begin(), analysis.points.end(), [](const PointAnalysis& p) {
    return std::any_of(p.lines.begin(), p.lines.end(),
                       [](const LineAnalysis& line) { return line.by_samples; });
  });
}

// How to read the tables above.
std::string Legend(const Analysis& analysis, const std::string& unit, bool verbose) {
  std::string text =
      absl::StrCat("\n", GainHead(), ": how much faster the program gets when the ", unit,
                   " gets 30 % faster, with its 95 % interval\n"
                   "slope 0.40: making the ",
                   unit, " 10 % faster makes the program 4 % faster, and so on in proportion\n");
  if (HasLimits(analysis)) absl::StrAppend(&text, SmallLegend(unit), "\n");
  if (!verbose) return text;
  return absl::StrCat(
      text,
      "part of each interval stays however long you run; exp. counts experiments at "
      "0 % and others\n",
      FalseDiscoveries(analysis));
}

// No request began, of a pair. Some may have ended all the same.
std::string NeverVisited(const ExperimentTable& table, size_t point) {
  const std::string head = absl::StrCat("\nProgress point ", Printable(table.points[point].name));
  const bool is_pair = table.points[point].kind == profile::PROGRESS_POINT_KIND_LATENCY;
  const std::string mismatch = is_pair ? MismatchOf(SummarizeLatency(table, point)) : "";
  if (mismatch.empty()) return absl::StrCat(head, " was never visited.\n");
  return absl::StrCat(head, " (latency): ", mismatch, "\n");
}

}  // namespace

std::string RenderPoints(const profile::Profile& profile, const ExperimentTable& table,
                         const Analysis& analysis, const TextOptions& options) {
  const auto nothing = FindNothingMeasured(profile, table, analysis);
  if (nothing.has_value()) {
    return absl::StrCat("\nNothing was measured: ", nothing->what, ".\n  ",
                        Capitalized(nothing->remedy), ".\n");
  }
  const PointRenderer renderer(profile, table, analysis, options);
  std::string text;
  bool any = false;
  for (const PointAnalysis& point : analysis.points) {
    if (table.points[point.point].visits == 0) {
      absl::StrAppend(&text, NeverVisited(table, point.point));
      continue;
    }
    any |= !point.lines.empty();
    absl::StrAppend(&text, renderer.Render(point));
  }
  if (any) absl::StrAppend(&text, Legend(analysis, renderer.UnitWord(), options.verbose));
  return text;
}

}  // namespace coz::report
