// The three forms in which `coz diff` prints.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "coz/report/compare/diff.h"
#include "coz/report/compare/unit_match.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/text_layout.h"
#include "coz/report/wording/unit_names.h"
#include "coz/report/wording/verdict.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kNameWidth = 44;
constexpr int kLeastNameWidth = 20;
// Of the longest change, and blanks.
constexpr int kChangeWidth = 18;

std::string GainOrNone(const std::string& gain) { return gain.empty() ? "–" : gain; }

// Of a unit that is only in one profile it is not known whether the program still has it.
std::string Words(Change change) {
  switch (change) {
    case Change::kCannotTell:
      return std::string(VerdictWord(Verdict::kCannotTell));
    case Change::kNew:
      return "only after";
    case Change::kGone:
      return "only before";
    default:
      return ChangeId(change);
  }
}

// What the words of both tables mean.
std::string Legend(const ProfileDiff& diff) {
  return absl::StrCat(
      "gained: making it faster brings more now; lost: less; only before, only "
      "after: the other profile has no figure for it; ",
      GainHead(), ": what the program gains when the ", diff.unit_word,
      " gets 30 % faster, with its 95 % interval");
}

std::string Name(const LineDiff& line) {
  if (line.before_name.empty()) return line.after_shown;
  if (line.after_name.empty()) return line.before_shown;
  return NameWithOther(line.after_shown, "was", line.before_shown);
}

// Whether a second column has something in it.
bool HasDetails(const PointDiff& point) {
  return std::any_of(point.lines.begin(), point.lines.end(),
                     [](const LineDiff& line) { return !line.shown_detail.empty(); });
}

std::string Time(double ns) {
  if (ns >= 1e9) return absl::StrFormat("%.3g s", ns / 1e9);
  if (ns >= 1e6) return absl::StrFormat("%.3g ms", ns / 1e6);
  if (ns >= 1e3) return absl::StrFormat("%.3g us", ns / 1e3);
  return absl::StrFormat("%.3g ns", ns);
}

// "1 ms -> 0.7 ms a visit: 30 % faster (28 to 32)"
std::string Progress(const PointDiff& point) {
  if (!point.is_in_before) return "only in the second profile";
  if (!point.is_in_after) return "only in the first profile";
  if (!point.time_before && !point.time_after) return "too few baselines in either profile";
  if (!point.time_before || !point.time_after) {
    const bool is_first = !point.time_before;
    const Estimate& other = is_first ? *point.time_after : *point.time_before;
    return absl::StrFormat("too few baselines in the %s profile; %s %s in the %s",
                           is_first ? "first" : "second", Time(other.value),
                           point.is_latency ? "in flight" : "a visit",
                           is_first ? "second" : "first");
  }
  std::string times =
      absl::StrFormat("%s -> %s %s", Time(point.time_before->value), Time(point.time_after->value),
                      point.is_latency ? "in flight" : "a visit");
  if (!point.gain) return times;
  const Estimate& gain = *point.gain;
  if (gain.low <= 0 && gain.high >= 0) {
    return absl::StrFormat("%s: no certain difference (%+.0f %% to %+.0f %%)", times,
                           gain.low * 100, gain.high * 100);
  }
  const double sign = gain.value > 0 ? 100 : -100;
  return absl::StrFormat("%s: %.0f %% %s (%.0f to %.0f)", times, gain.value * sign,
                         gain.value > 0 ? "less time" : "more time",
                         std::min(gain.low * sign, gain.high * sign),
                         std::max(gain.low * sign, gain.high * sign));
}

size_t Shown(const PointDiff& point, size_t max_lines) {
  return max_lines == 0 ? point.lines.size() : std::min(max_lines, point.lines.size());
}

Json EstimateJson(const std::optional<Estimate>& estimate) {
  if (!estimate.has_value()) return nullptr;
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  return {{"value", number(estimate->value)},
          {"low", number(estimate->low)},
          {"high", number(estimate->high)}};
}

// As in `coz report --json`.
Json HeadlineJson(const std::optional<Headline>& headline) {
  if (!headline.has_value()) return nullptr;
  return {{"virtual_speedup", headline->virtual_speedup},
          {"program_speedup", EstimateJson(headline->program_speedup)},
          {"beyond", headline->beyond.empty() ? Json() : Json(headline->beyond)}};
}

std::string WideTable(const ProfileDiff& diff, const PointDiff& point, size_t shown) {
  const auto L = Align::kLeft;
  TextTable table({L, L, L, L, L});
  table.AddRow({"change", diff.unit_word, HasDetails(point) ? DetailHead(diff.unit_word) : "",
                absl::StrCat(GainHead(), " before"), "after"});
  for (size_t i = 0; i < shown; ++i) {
    const LineDiff& line = point.lines[i];
    table.AddRow({Words(line.change), ElidePath(Name(line), kNameWidth),
                  ShortenFunction(line.shown_detail, kNameWidth / 2), GainOrNone(line.before_gain),
                  GainOrNone(line.after_gain)});
  }
  return table.Render(1);
}

// Two rows for each line: its names, and its gains.
std::string NarrowTable(const ProfileDiff& diff, const PointDiff& point, size_t shown, int width) {
  const bool has_details = HasDetails(point);
  const int room = std::max(width - kChangeWidth, kLeastNameWidth);
  const int name_width = std::min(kNameWidth, has_details ? room * 3 / 5 : room);
  const auto L = Align::kLeft;
  TextTable table({L, L, L});
  table.AddRow({"change", diff.unit_word, has_details ? DetailHead(diff.unit_word) : ""});
  for (size_t i = 0; i < shown; ++i) {
    const LineDiff& line = point.lines[i];
    table.AddRow({Words(line.change), ElidePath(Name(line), name_width),
                  ShortenFunction(line.shown_detail, room - name_width)});
  }
  std::string text;
  size_t row = 0;
  const std::string names = table.Render(1);
  for (const absl::string_view name : absl::StrSplit(names, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&text, name, "\n");
    if (row > 0) {
      const LineDiff& line = point.lines[row - 1];
      absl::StrAppend(&text, "   before ", GainOrNone(line.before_gain), "; after ",
                      GainOrNone(line.after_gain), "\n");
    } else {
      absl::StrAppend(&text, "   ", GainHead(), "\n");
    }
    ++row;
  }
  return text;
}

bool HasUnits(const ProfileDiff& diff) {
  return std::any_of(diff.points.begin(), diff.points.end(),
                     [](const PointDiff& point) { return !point.lines.empty(); });
}

// '|' ends a cell and '`' a span of code.
std::string Cell(const std::string& text) {
  return absl::StrReplaceAll(text, {{"|", "\\|"}, {"`", "'"}});
}

}  // namespace

std::string DiffText(const ProfileDiff& diff, size_t max_lines, int width) {
  std::string text =
      absl::StrCat("From ", Printable(diff.before_path), " to ", Printable(diff.after_path), "\n");
  for (const std::string& note : diff.notes) absl::StrAppend(&text, "  note: ", note, "\n");
  for (const PointDiff& point : diff.points) {
    absl::StrAppend(&text, "\nProgress point ", Printable(point.name), ": ", Progress(point), "\n");
    if (point.lines.empty()) continue;
    const size_t shown = Shown(point, max_lines);
    const std::string table = WideTable(diff, point, shown);
    const bool fits = width == 0 || WidestLine(table) <= width;
    absl::StrAppend(&text, fits ? table : NarrowTable(diff, point, shown, width));
    const size_t more = point.lines.size() - shown;
    if (more != 0) absl::StrAppend(&text, "  and ", more, " more: --lines=0 shows all\n");
  }
  if (!HasUnits(diff)) return text;
  absl::StrAppend(&text, "\n", Legend(diff), "\n");
  return text;
}

std::string DiffMarkdown(const ProfileDiff& diff, size_t max_lines) {
  std::string text =
      absl::StrCat("### Causal profiles compared: before `", Cell(Printable(diff.before_path)),
                   "`, after `", Cell(Printable(diff.after_path)), "`\n\n");
  for (const std::string& note : diff.notes) absl::StrAppend(&text, "> note: ", note, "\n\n");
  for (const PointDiff& point : diff.points) {
    absl::StrAppend(&text, "**", Cell(Printable(point.name)), "**: ", Progress(point), "\n\n");
    if (point.lines.empty()) continue;
    absl::StrAppend(&text, "| change | ", diff.unit_word, " | ", DetailHead(diff.unit_word), " | ",
                    GainHead(), " before | after |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < Shown(point, max_lines); ++i) {
      const LineDiff& line = point.lines[i];
      absl::StrAppend(&text, "| ", Words(line.change), " | `", Cell(Name(line)), "` | `",
                      Cell(line.shown_detail), "` | ", GainOrNone(line.before_gain), " | ",
                      GainOrNone(line.after_gain), " |\n");
    }
    const size_t more = point.lines.size() - Shown(point, max_lines);
    if (more != 0)
      absl::StrAppend(&text, "\n", more, " more ", diff.unit_words, " are not shown.\n");
    absl::StrAppend(&text, "\n");
  }
  if (HasUnits(diff)) absl::StrAppend(&text, Capitalized(Legend(diff)), ".\n");
  return text;
}

Json DiffJson(const ProfileDiff& diff) {
  Json points = Json::array();
  for (const PointDiff& point : diff.points) {
    Json lines = Json::array();
    for (const LineDiff& line : point.lines) {
      const auto name = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
      const auto number = [](uint32_t n) { return n == 0 ? Json() : Json(n); };
      lines.push_back({{"change", ChangeId(line.change)},
                       {"before_name", name(line.before_name)},
                       {"after_name", name(line.after_name)},
                       {"function", line.function},
                       {"file_before", name(line.before_file)},
                       {"file_after", name(line.after_file)},
                       {"line_before", number(line.before_line)},
                       {"line_after", number(line.after_line)},
                       {"gain_before", name(line.before_gain)},
                       {"gain_after", name(line.after_gain)},
                       {"headline_before", HeadlineJson(line.before_headline)},
                       {"headline_after", HeadlineJson(line.after_headline)},
                       {"slope_before", EstimateJson(line.before)},
                       {"slope_after", EstimateJson(line.after)},
                       {"difference", EstimateJson(line.difference)}});
    }
    points.push_back({{"name", point.name},
                      {"kind", point.is_latency ? "latency" : "throughput"},
                      {"time_per_visit_before_ns", EstimateJson(point.time_before)},
                      {"time_per_visit_after_ns", EstimateJson(point.time_after)},
                      {"gain", EstimateJson(point.gain)},
                      {"units", lines}});
  }
  return {{"schema", "coz-diff"},
          {"schema_version", 1},
          {"before", diff.before_path},
          {"after", diff.after_path},
          {"note", diff.notes.empty() ? Json() : Json(diff.notes.front())},
          {"notes", diff.notes},
          {"points", points}};
}

}  // namespace coz::report
