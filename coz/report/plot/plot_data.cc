// The same figures as in ReportJson, rounded and as lists without names, so that a page of 5,000
// lines is small to mail and opens at once. Lines and points are indices into the lists "units" and
// "points":
//
//   version, title    of coz; the command's name
//   facts, sessions   see run_facts.h
//   look_closer       the command for one unit, with FIXED_UNIT for its name
//   more_sessions     how many are not listed
//   notes             sentences
//   folder            what all files begin with; the page leaves it out
//   nothing           {what, remedy}: why nothing was measured and what to do; lines and aside are
//                     empty then. Else null
//   words             of the verdicts, by their keys
//   points            most visited first, each {name, kind, visits, counted_by, visit_cost_ns,
//                     cost, beside, sampling, spread, untried, there, latency, low_visits}.
//                     spread: what to do where all lines are small, untried: of the lines that have
//                     no entry: a sentence each or "". cost and sampling: what counting and
//                     sampling take, beside: what its breakpoint does to code around it, there:
//                     from when to when, sentences or "". latency, of a
//                     pair, else null: {in, out: a second, under_way, mean, p50, p99: ms or null,
//                     error, mismatch: a sentence or "", stable}
//   files             {path, changed, missing, runs: [[first line, text…]…]}; without runs where
//                     nothing could be read
//   units             [file, line, function, share of samples, kind]; file: -1 where there is none
//   lines             ranked, each {p: point, u: unit, v: verdict, y: whether the verdict is sure,
//                     t: verdict in words, h: [gain, what the curve does], as other outputs say
//                     them, m: what it brings at most, where its samples tell, else null, s: slope,
//                     f: phase factor, a: slope while active, b: own baselines, pb: baselines of
//                     other lines, n: experiments, q: q-value, d: [[speedup, value, low, high,
//                     experiments, speedup achieved]…], c: [[speedup, value, low, high]…] the
//                     curve, k: [the place of its bend or null,
//                     the place in words], or null where it is straight}
//   aside             {p, u, n: experiments, t, h: gain and m, as above, of a line that takes too
//                     little CPU time to bring more, else null}
//   timeline          {seconds, sessions: [start…], more, experiments: [[start, end, unit, speedup,
//                     used]…], units: [[unit, share…]…], points: [[point, visits per second…]…]}
#include "coz/report/plot/plot_data.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "coz/report/analysis/latency_summary.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/format/unit_kind.h"
#include "coz/report/json/report_json.h"
#include "coz/report/plot/run_facts.h"
#include "coz/report/plot/source_lines.h"
#include "coz/report/plot/thread_facts.h"
#include "coz/report/plot/timeline.h"
#include "coz/report/text/report_notes.h"
#include "coz/report/wording/find_source.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/nothing_measured.h"
#include "coz/report/wording/path_tree_rows.h"
#include "coz/report/wording/point_kind_word.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/small_units.h"
#include "coz/report/wording/text_layout.h"
#include "coz/report/wording/unit_names.h"
#include "coz/report/wording/verdict.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using nlohmann::json;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kTimelineBins = 240;
constexpr size_t kTimelineUnits = 12;
constexpr size_t kMaxTimelineExperiments = 20000;
// Runs whose facts are shown one by one; a merged profile may have thousands.
constexpr int kMaxSessions = 20;

json Rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::round(value * 1e4) / 1e4 + 0.0;
}

json Numbers(const Estimate& e) { return {Rounded(e.value), Rounded(e.low), Rounded(e.high)}; }

json BendNumbers(const Curve& curve) {
  if (!curve.bend.has_value()) return nullptr;
  const Bend& bend = *curve.bend;
  return {IsPlaced(bend) ? Rounded(bend.virtual_speedup) : json(nullptr), PlaceOfBend(curve)};
}

json Numbers(double first, const Estimate& e) {
  return {Rounded(first), Rounded(e.value), Rounded(e.low), Rounded(e.high)};
}

std::string Sentence(absl::string_view words) { return Capitalized(words) + "."; }

// Why there is no figure, and what to do: sentences; null where something was measured.
json Nothing(const profile::Profile& profile, const ExperimentTable& table,
             const Analysis& analysis) {
  const auto nothing = FindNothingMeasured(profile, table, analysis);
  if (!nothing.has_value()) return nullptr;
  return {{"what", Capitalized(nothing->what)}, {"remedy", Sentence(nothing->remedy)}};
}

bool IsSmall(const LineSetAside& line) { return line.reason == SetAsideReason::kSmall; }

// What a line that needs no experiments brings at most; null where experiments are missing.
json LimitText(const LineSetAside& line) {
  return IsSmall(line) ? json(GainText(HeadlineOfLimit(line.gain_limit))) : json(nullptr);
}

// The command that puts all experiments on the unit for which FIXED_UNIT stands.
std::string LookCloser(const profile::Profile& profile) {
  const profile::Options options =
      profile.session_size() == 0 ? profile::Options() : profile.session(0).options();
  return Printable(absl::StrCat(FixedUnitCommand(options, "FIXED_UNIT"), TargetWords(profile)));
}

json Words() {
  json words;
  for (Verdict verdict :
       {Verdict::kFaster, Verdict::kSlower, Verdict::kNoEffect, Verdict::kCannotTell}) {
    words[VerdictId(verdict)] = std::string(VerdictWord(verdict));
  }
  return words;
}

class Builder {
 public:
  Builder(const profile::Profile& profile, const ExperimentTable& table, const Analysis& analysis)
      : profile_(profile), table_(table), analysis_(analysis), names_(table) {
    context_.options = analysis.options;
    context_.run_time_ns = table.run_time_ns;
    context_.profile = &profile;
  }

  json Build(const ReadStats& stats, const PlotDataOptions& options) {
    json data;
    data["version"] = options.coz_version;
    data["title"] = TargetTitle(profile_);
    data["facts"] = RunFacts(table_, analysis_);
    data["sessions"] = json::array();
    const SessionEnds ends(profile_);
    const int sessions = std::min(profile_.session_size(), kMaxSessions);
    for (int i = 0; i < sessions; ++i) {
      data["sessions"].push_back(
          SessionFacts(profile_, profile_.session(i), ends.Of(profile_.session(i))));
    }
    data["look_closer"] = LookCloser(profile_);
    data["more_sessions"] = profile_.session_size() - sessions;
    data["notes"] = ReportNotes(profile_, table_, analysis_, stats);
    data["words"] = Words();
    data["nothing"] = Nothing(profile_, table_, analysis_);
    is_nothing_ = !data["nothing"].is_null();
    data["points"] = json::array();
    data["lines"] = json::array();
    data["aside"] = json::array();
    for (const PointAnalysis& point : analysis_.points) AddPoint(point, &data);
    data["timeline"] = TimelineData();
    data["threads"] = ThreadFacts(profile_);
    data["paths"] = PathTree();
    // Whatever was named above is in these lists now.
    data["units"] = std::move(units_);
    data["folder"] = CommonFolder(FilesWithLines());
    data["files"] = Files(options.source_folders);
    return data;
  }

 private:
  void AddPoint(const PointAnalysis& point, json* data) {
    const PointRow& row = table_.points[point.point];
    const size_t index = (*data)["points"].size();
    (*data)["points"].push_back({{"name", row.name},
                                 {"kind", PointKindId(row.kind)},
                                 {"kind_word", std::string(PointKindWord(row.kind))},
                                 {"visits", row.visits},
                                 {"counted_by", row.counted_by},
                                 {"visit_cost_ns", row.visit_cost_ns},
                                 {"cost", CostOfCounting(row, table_.run_time_ns)},
                                 {"beside", SlowdownBesideBreakpoint(row)},
                                 {"sampling", CostOfSampling(point)},
                                 {"spread", Spread(point, profile_, names_)},
                                 {"untried", Untried(point, profile_, table_, names_)},
                                 {"there", WhenThere(row, point)},
                                 {"latency", Latency(point.point)},
                                 {"low_visits", point.low_visit_experiments}});
    point_numbers_[point.point] = index;
    for (const LineAnalysis& line : point.lines) {
      json entry = Line(line, row);
      entry["p"] = index;
      (*data)["lines"].push_back(std::move(entry));
    }
    // How much longer each line needs says nothing where there is no experiment at all.
    if (row.visits == 0 || is_nothing_) return;
    for (const LineSetAside& line : point.set_aside) {
      (*data)["aside"].push_back({{"p", index},
                                  {"u", Unit(line.unit)},
                                  {"n", line.experiments},
                                  {"h", LimitText(line)},
                                  {"m", Rounded(IsSmall(line) ? line.gain_limit : kUnknown)},
                                  {"t", Sentence(SetAsideSentence(line, row, context_))}});
    }
  }

  // Of a pair, without speedup: rates a second, number under way, ms; null for other points.
  json Latency(size_t point) const {
    if (table_.points[point].kind != profile::PROGRESS_POINT_KIND_LATENCY) return nullptr;
    const LatencySummary now = SummarizeLatency(table_, point);
    return {{"in", Rounded(now.arrivals_per_second)},
            {"out", Rounded(now.departures_per_second)},
            {"under_way", Rounded(now.in_flight)},
            {"mean", Rounded(now.mean_ns / 1e6)},
            {"p50", Rounded(now.median_ns / 1e6)},
            {"p99", Rounded(now.p99_ns / 1e6)},
            {"error", ErrorOfLooks(now)},
            {"mismatch", MismatchOf(now)},
            {"stable", !IsUnstable(now) && MismatchOf(now).empty()}};
  }

  json Line(const LineAnalysis& line, const PointRow& point) {
    json speedups = json::array();
    for (const SpeedupEstimate& s : line.speedups) {
      json numbers = Numbers(s.virtual_speedup, s.program_speedup);
      numbers.push_back(s.experiments);
      numbers.push_back(
          Rounded(s.achieved_virtual_speedup > 0 ? s.achieved_virtual_speedup : s.virtual_speedup));
      speedups.push_back(std::move(numbers));
    }
    json curve = json::array();
    for (const CurvePoint& p : line.curve.points) {
      curve.push_back(Numbers(p.virtual_speedup, p.program_speedup));
    }
    return {{"u", Unit(line.unit)},
            {"v", VerdictId(line.verdict)},
            {"y", line.IsSure()},
            {"m", Rounded(line.by_samples ? line.gain_limit : kUnknown)},
            {"s", Numbers(line.slope)},
            {"f", Rounded(line.phase_factor)},
            {"a", Numbers(line.slope_while_active)},
            {"b", line.baselines},
            {"q", Rounded(line.q_value)},
            {"pb", line.pooled_baselines},
            {"n", line.others},
            {"d", std::move(speedups)},
            {"c", std::move(curve)},
            {"k", BendNumbers(line.curve)},
            {"h", {GainText(HeadlineOf(line)), ShapeText(line)}},
            {"t", Sentence(VerdictSentence(line, point, context_))}};
  }

  // Rows of depth, kind, name, share, and the number of a unit or -1.
  json PathTree() {
    std::set<size_t> with_figures;
    for (const PointAnalysis& point : analysis_.points) {
      for (const LineAnalysis& line : point.lines) with_figures.insert(line.unit);
    }
    constexpr const char* kParts[] = {"function", "caller", "none", "threads"};
    json rows = json::array();
    for (const PathTreeRow& row :
         PathTreeRows(table_, [&](size_t unit) { return with_figures.count(unit) != 0; })) {
      const int64_t unit = row.unit.has_value() ? static_cast<int64_t>(Unit(*row.unit)) : -1;
      rows.push_back({row.depth, kParts[static_cast<size_t>(row.part)], row.name,
                      Rounded(ShareOf(row.samples)), unit});
    }
    return rows;
  }

  double ShareOf(uint64_t samples) const {
    if (table_.samples == 0) return 0;
    return static_cast<double>(samples) / static_cast<double>(table_.samples);
  }

  // The unit's number in "units", where it is entered when first named.
  size_t Unit(size_t unit) {
    const auto [it, added] = unit_numbers_.try_emplace(unit, units_.size());
    if (!added) return it->second;
    const UnitRow& row = table_.units[unit];
    int64_t file = -1;
    if (!row.file.empty()) {
      file = static_cast<int64_t>(file_numbers_.try_emplace(row.file, files_.size()).first->second);
      if (static_cast<size_t>(file) == files_.size()) files_.push_back({row.file, {}});
      if (row.line > 0) files_[static_cast<size_t>(file)].lines.insert(row.line);
    }
    units_.push_back({file, row.line, WithoutAnonymous(row.function), Rounded(ShareOf(row.samples)),
                      UnitKindId(row.kind)});
    if (!row.thread_group.empty()) units_.back().push_back(row.thread_group);
    return it->second;
  }

  std::vector<std::string> FilesWithLines() const {
    std::vector<std::string> paths;
    for (const File& file : files_) paths.push_back(file.path);
    return paths;
  }

  json Files(const std::vector<std::string>& folders) const {
    SourceReader reader(BeginNs(profile_), SourceFolders(folders, profile_));
    json files = json::array();
    for (const File& file : files_) {
      json entry = {{"path", file.path}};
      if (!file.lines.empty()) AddText(reader.Read(file.path, file.lines), &entry);
      files.push_back(std::move(entry));
    }
    return files;
  }

  static void AddText(SourceText text, json* entry) {
    if (!text.missing.empty()) {
      (*entry)["missing"] = text.missing;
      return;
    }
    if (text.changed_since) (*entry)["changed"] = true;
    json runs = json::array();
    for (SourceRun& run : text.runs) {
      json lines = json::array({run.first_line});
      for (std::string& line : run.lines) lines.push_back(std::move(line));
      runs.push_back(std::move(lines));
    }
    (*entry)["runs"] = std::move(runs);
  }

  json TimelineData() {
    const Timeline timeline = BuildTimeline(profile_, table_, kTimelineBins, kTimelineUnits);
    json experiments = json::array();
    for (const TimelineExperiment& e : timeline.experiments) {
      if (experiments.size() == kMaxTimelineExperiments) break;
      const ExperimentRow& row = table_.experiments[e.row];
      experiments.push_back({Rounded(static_cast<double>(e.start_ns) / 1e9),
                             Rounded(static_cast<double>(e.end_ns) / 1e9), Unit(row.unit),
                             Rounded(row.virtual_speedup), row.taints == 0 ? 1 : 0});
    }
    json starts = json::array();
    for (uint64_t start : timeline.session_starts_ns) {
      starts.push_back(Rounded(static_cast<double>(start) / 1e9));
    }
    json units = json::array();
    for (const TimelineRow& row : timeline.units) units.push_back(Row(Unit(row.unit), row.share));
    json points = json::array();
    for (const TimelinePoint& point : timeline.points) {
      points.push_back(Row(point_numbers_[point.point], point.rate));
    }
    return {{"seconds", static_cast<double>(timeline.end_ns) / 1e9},
            {"sessions", std::move(starts)},
            {"more", timeline.experiments.size() - experiments.size()},
            {"experiments", std::move(experiments)},
            {"units", std::move(units)},
            {"points", std::move(points)}};
  }

  static json Row(size_t number, const std::vector<double>& values) {
    json row = json::array({number});
    for (double value : values) row.push_back(value < 0 ? json(nullptr) : Rounded(value));
    return row;
  }

  struct File {
    std::string path;
    std::set<uint32_t> lines;
  };

  const profile::Profile& profile_;
  const ExperimentTable& table_;
  const Analysis& analysis_;
  const UnitNames names_;
  VerdictContext context_;
  bool is_nothing_ = false;
  json units_ = json::array();
  std::map<size_t, size_t> unit_numbers_;
  std::map<size_t, size_t> point_numbers_;
  std::vector<File> files_;
  std::map<std::string, size_t> file_numbers_;
};

}  // namespace

json BuildPlotData(const profile::Profile& profile, const ExperimentTable& table,
                   const Analysis& analysis, const ReadStats& stats,
                   const PlotDataOptions& options) {
  return Builder(profile, table, analysis).Build(stats, options);
}

}  // namespace coz::report
