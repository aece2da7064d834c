#include "coz/report/json/report_json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/delay_factor.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/latency_summary.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/analysis/spinning.h"
#include "coz/report/analysis/systematic_error.h"
#include "coz/report/analysis/thread_table.h"
#include "coz/report/analysis/wait_times.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/unit_kind.h"
#include "coz/report/json/apis_json.h"
#include "coz/report/json/threads_json.h"
#include "coz/report/statistics/curve.h"
#include "coz/report/wording/error_cause.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/verdict.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity and no NaN.
Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json Interval(const Estimate& estimate) {
  return {{"value", Number(estimate.value)},
          {"low", Number(estimate.low)},
          {"high", Number(estimate.high)}};
}

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? std::nan("") : static_cast<double>(part) / static_cast<double>(whole);
}

const char* EndId(profile::EndReason reason) {
  switch (reason) {
    case profile::END_REASON_TARGET_EXITED:
      return "target_exited";
    case profile::END_REASON_DURATION_REACHED:
      return "duration_reached";
    case profile::END_REASON_PRECISION_REACHED:
      return "precision_reached";
    case profile::END_REASON_TARGET_REPLACED:
      return "target_replaced";
    case profile::END_REASON_INTERRUPTED:
      return "interrupted";
    default:
      return "unknown";
  }
}

Json OptionsJson(const profile::Options& options) {
  return {{"binary_scope", options.binary_scope()},
          {"source_scope", options.source_scope()},
          {"unit_kind", UnitKindId(options.unit_kind())},
          {"without_inlined_copies", options.without_inlined_copies()},
          {"callers", options.callers()},
          {"group", options.group()},
          {"exclude", options.exclude()},
          {"given", options.given()},
          {"innermost_only", options.innermost_only()},
          {"thread", options.thread()},
          {"thread_group", options.thread_group()},
          {"count", options.count()},
          {"time", options.time()},
          {"api", options.api()},
          {"progress", options.progress()},
          {"progress_sampled", options.progress_sampled()},
          {"latency", options.latency()},
          {"progress_source", options.progress_source()},
          {"follow", options.follow()},
          {"sampler", options.sampler()},
          {"unwinder", options.unwinder()},
          {"until_last", options.until_last()},
          {"exclude_kernel", options.exclude_kernel()},
          {"awake", options.awake()},
          {"repeat", options.repeat()},
          {"repetition", options.repetition()},
          {"fixed_line", options.fixed_line()},
          {"fixed_virtual_speedup", options.fixed_virtual_speedup()},
          {"min_experiment_ns", options.min_experiment_ns()},
          {"cooloff_ns", options.cooloff_ns()},
          {"end_to_end", options.end_to_end()},
          {"duration_ns", options.duration_ns()},
          {"until_width", options.until_width()},
          {"attached_pid", options.attached_pid()},
          {"attached_tree", options.attached_tree()}};
}

Json EndJson(const profile::SessionEnd* end) {
  // A session without an end was cut short, or is still running.
  if (end == nullptr) return nullptr;
  return {{"reason", EndId(end->reason())},
          {"run_time_ns", end->run_time_ns()},
          {"exit_status", end->exit_status()},
          {"exit_signal", end->exit_signal()},
          {"inserted_delay_ns", end->inserted_delay_ns()}};
}

Json StaysJson(const PointRow& row) {
  Json stays = Json::array();
  for (const PointStay& stay : row.stays) {
    Json to_ns = nullptr;
    if (stay.to_ns != UINT64_MAX) to_ns = stay.to_ns;
    stays.push_back({{"from_ns", stay.from_ns}, {"to_ns", to_ns}});
  }
  return stays;
}

Json SourceChangeJson(const profile::SourceChange* change) {
  if (change == nullptr) return nullptr;
  return {{"at_ns", change->at_ns()}, {"sampling_source", SourceId(change->sampling_source())}};
}

// Null where there was no selftest on the machine.
Json CalibrationJson(const profile::Calibration& calibration) {
  if (calibration.figures() == 0) return nullptr;
  return {{"time_s", calibration.time_s()},
          {"figures", calibration.figures()},
          {"mean_error", Number(calibration.mean_error())},
          {"worst_error", Number(calibration.worst_error())}};
}

Json SessionsJson(const profile::Profile& profile) {
  const SessionEnds ends(profile);
  Json sessions = Json::array();
  for (const profile::Session& session : profile.session()) {
    sessions.push_back({{"id", absl::StrFormat("%016x", session.id())},
                        {"command", session.command()},
                        {"working_folder", session.working_folder()},
                        {"start_unix_ns", session.start_unix_ns()},
                        {"host", session.machine().host()},
                        {"kernel", session.machine().kernel()},
                        {"cpu_model", session.machine().cpu_model()},
                        {"cpu_count", session.machine().cpu_count()},
                        {"cpu_quota", session.machine().cpu_quota()},
                        {"virtual_machine", session.machine().virtual_machine()},
                        {"idle_driver", session.machine().idle_driver()},
                        {"halted_wake_ns", session.machine().halted_wake_ns()},
                        {"calibration", CalibrationJson(session.machine().calibration())},
                        {"coz_version", session.coz_version()},
                        {"sampling_source", SourceId(session.sampling_source())},
                        {"sampling_period_ns", session.sampling_period_ns()},
                        {"lone_thread_period_ns", session.lone_thread_period_ns()},
                        {"kernel_samples_included", session.kernel_samples_included()},
                        {"fallback_reason", session.fallback_reason()},
                        // A 64-bit number would lose digits in many readers.
                        {"seed", absl::StrCat(session.seed())},
                        {"options", OptionsJson(session.options())},
                        {"repeat_command", RepeatCommand(session)},
                        {"source_change", SourceChangeJson(SourceChangeOf(profile, session))},
                        {"end", EndJson(ends.Of(session))}});
  }
  return sessions;
}

Json TotalsJson(const ExperimentTable& table, const Analysis& analysis) {
  Json taints = Json::object();
  for (int i = 0; i < profile::Taint::Reason_ARRAYSIZE; ++i) {
    if (analysis.taints_by_reason[i] == 0) continue;
    const std::string name = profile::Taint::Reason_Name(static_cast<profile::Taint::Reason>(i));
    taints[absl::AsciiStrToLower(name)] = analysis.taints_by_reason[i];
  }
  const Spinning spinning = FindSpinning(table);
  return {{"run_time_ns", table.run_time_ns},
          {"experiments", analysis.experiments},
          {"baselines", analysis.baselines},
          {"experiments_not_used", analysis.tainted},
          {"experiments_not_used_by_reason", taints},
          {"samples", table.samples},
          {"out_of_scope_samples", table.out_of_scope_samples},
          {"other_thread_samples", table.other_thread_samples},
          {"unmapped_samples", table.unmapped_samples},
          {"lost_samples", table.lost_samples},
          {"spinning_share", Number(spinning.share)},
          {"freed_by_giving_up_cpus", Number(spinning.freed)}};
}

Json UnitsJson(const ExperimentTable& table) {
  Json units = Json::array();
  for (const UnitRow& unit : table.units) {
    units.push_back({{"kind", UnitKindId(unit.kind)},
                     {"name", unit.Name()},
                     {"file", unit.file},
                     {"line", unit.line},
                     {"function", unit.function},
                     {"samples", unit.samples},
                     {"sample_share", Number(Ratio(unit.samples, table.samples))}});
    if (!unit.wait.empty()) units.back()["wait"] = unit.wait;
    if (!unit.thread_group.empty()) units.back()["thread_group"] = unit.thread_group;
    if (unit.spinning_samples != 0) units.back()["spinning_samples"] = unit.spinning_samples;
  }
  return units;
}

Json OwnWaitsJson(const profile::Profile& profile, const ExperimentTable& table) {
  const std::optional<WaitTimes> times = SumWaitTimes(profile, table);
  Json waits = Json::array();
  for (const OwnWaitRow& row : OwnWaits(profile)) {
    waits.push_back({{"name", row.call.Name()},
                     {"file", row.call.file},
                     {"line", row.call.line},
                     {"function", row.call.function},
                     {"waited_ns", row.waited_ns},
                     {"time_share", times.has_value() ? Number(static_cast<double>(row.waited_ns) /
                                                               times->lived_ns)
                                                      : nullptr}});
    if (!row.call.thread_group.empty()) waits.back()["thread_group"] = row.call.thread_group;
  }
  return waits;
}

Json CurveJson(const Curve& curve) {
  Json points = Json::array();
  for (const CurvePoint& point : curve.points) {
    points.push_back({{"virtual_speedup", point.virtual_speedup},
                      {"program_speedup", Interval(point.program_speedup)}});
  }
  Json bend = nullptr;
  if (curve.bend.has_value()) {
    bend = {{"virtual_speedup", curve.bend->virtual_speedup},
            {"low", curve.bend->low},
            {"high", curve.bend->high},
            {"slope_before", Interval(curve.bend->slope_before)},
            {"slope_after", Interval(curve.bend->slope_after)}};
  }
  return {{"points", points}, {"bend", bend}};
}

// Of a latency pair; null for other points.
Json LatencyJson(const PointRow& row, const LatencySummary& summary) {
  if (row.kind != profile::PROGRESS_POINT_KIND_LATENCY) return nullptr;
  return {{"arrivals_per_second", Number(summary.arrivals_per_second)},
          {"departures_per_second", Number(summary.departures_per_second)},
          {"in_flight", Number(summary.in_flight)},
          {"mean_ns", Number(summary.mean_ns)},
          {"p50_ns", Number(summary.median_ns)},
          {"p99_ns", Number(summary.p99_ns)},
          {"in_flight_by", summary.by_looks ? "looks" : "times"},
          {"mismatch", MismatchOf(summary)},
          {"stable", !IsUnstable(summary) && MismatchOf(summary).empty()}};
}

// `latencies`: of a latency pair, or null.
Json SpeedupsJson(const LineAnalysis& line, const LatencyBySpeedup* latencies) {
  Json speedups = Json::array();
  for (const SpeedupEstimate& s : line.speedups) {
    Json speedup = {{"virtual_speedup", s.virtual_speedup},
                    {"achieved_virtual_speedup", Number(s.achieved_virtual_speedup)},
                    {"experiments", s.experiments},
                    // Of a pair, the mean of two counts.
                    {"visits", Number(std::nearbyint(s.visits))},
                    {"program_speedup", Interval(s.program_speedup)}};
    if (latencies != nullptr) {
      const LatencySummary then = latencies->Of(line.unit, s.virtual_speedup);
      speedup["p50_ns"] = Number(then.median_ns);
      speedup["p99_ns"] = Number(then.p99_ns);
    }
    speedups.push_back(std::move(speedup));
  }
  return speedups;
}

// What is in the slope's interval beside chance, and why a verdict is not sure.
Json SystematicJson(const LineAnalysis& line, const profile::Profile& profile) {
  const SystematicError& error = line.systematic;
  Json causes = Json::array();
  for (const ErrorTerm& term : error.terms) {
    const bool is_doubt =
        std::find(error.doubts.begin(), error.doubts.end(), term.cause) != error.doubts.end();
    causes.push_back(
        {{"cause", ErrorCauseId(term.cause)},
         {"half_width", Number(term.HalfWidth(line.slope.value, 1))},
         {"half_width_below", Number(term.HalfWidth(line.slope.value, 1, Side::kBelow))},
         {"doubt", is_doubt},
         {"sentence", WithItsCommand(ErrorCauseText(term.cause, error.facts), profile)}});
  }
  return {{"half_width", Number(error.HalfWidth(line.slope.value, 1))},
          {"half_width_below", Number(error.HalfWidth(line.slope.value, 1, Side::kBelow))},
          {"causes", causes}};
}

// What other outputs show of the line.
Json HeadlineJson(const LineAnalysis& line) {
  const Headline headline = HeadlineOf(line);
  return {{"text", HeadlineText(line)},
          {"virtual_speedup", headline.virtual_speedup},
          {"program_speedup", Interval(headline.program_speedup)},
          {"beyond", headline.beyond.empty() ? Json(nullptr) : Json(headline.beyond)}};
}

Json LineJson(const LineAnalysis& line, const PointRow& point, const LatencyBySpeedup* latencies,
              const VerdictContext& context) {
  return {{"unit", line.unit},
          {"verdict", VerdictId(line.verdict)},
          {"verdict_word", VerdictWord(line)},
          {"verdict_sentence", VerdictSentence(line, point, context)},
          {"sure", line.IsSure()},
          {"headline", HeadlineJson(line)},
          {"slope", Interval(line.slope)},
          {"statistical_slope", Interval(line.statistical_slope)},
          {"systematic", SystematicJson(line, *context.profile)},
          {"p_value", Number(line.p_value)},
          {"q_value", Number(line.q_value)},
          {"slope_while_active", Interval(line.slope_while_active)},
          {"phase_factor", line.phase_factor},
          {"missed_in_stretch_ns", line.missed_in_stretch_ns},
          {"pause_allowance", line.pause_allowance},
          {"gain_limit", Number(line.gain_limit)},
          {"by_samples", line.by_samples},
          {"baselines", line.baselines},
          {"pooled_baselines", line.pooled_baselines},
          {"experiments", line.others},
          {"outliers", line.outliers},
          {"best_speedup", line.speedups.empty() ? Json(nullptr) : Json(line.best)},
          {"speedups", SpeedupsJson(line, latencies)},
          {"curve", CurveJson(line.curve)}};
}

// What being sampled takes; null where the profile cannot tell.
Json SlowdownJson(const std::optional<SamplingSlowdown>& slowdown) {
  if (!slowdown.has_value()) return nullptr;
  return {{"time_share", Interval(slowdown->share)}, {"bare_intervals", slowdown->stretches}};
}

// How long a delay is for the point's rate; null where controls do not tell.
Json DelayFactorJson(const DelayFactor* factor) {
  if (factor == nullptr) return nullptr;
  return {{"measured", Interval(factor->measured)},
          {"used", factor->used},
          {"controls", factor->controls},
          {"paced_from_outside", IsPaced(*factor)}};
}

Json PointsJson(const profile::Profile& profile, const ExperimentTable& table,
                const Analysis& analysis) {
  const VerdictContext context = {analysis.options, table.run_time_ns, &profile};
  Json points = Json::array();
  for (const PointAnalysis& point : analysis.points) {
    const PointRow& row = table.points[point.point];
    Json lines = Json::array();
    std::optional<LatencyBySpeedup> latencies;
    if (row.kind == profile::PROGRESS_POINT_KIND_LATENCY) latencies.emplace(table, point.point);
    for (const LineAnalysis& line : point.lines) {
      lines.push_back(LineJson(line, row, latencies ? &*latencies : nullptr, context));
    }
    Json set_aside = Json::array();
    for (const LineSetAside& line : point.set_aside) {
      set_aside.push_back({{"unit", line.unit},
                           {"slope", nullptr},
                           {"reason", SetAsideId(line.reason)},
                           {"sentence", SetAsideSentence(line, row, context)},
                           {"experiments", line.experiments},
                           {"missing_speedups", line.missing_speedups},
                           {"gain_limit", Number(line.gain_limit)}});
    }
    points.push_back({{"name", row.name},
                      {"kind", PointKindId(row.kind)},
                      {"visits", row.visits},
                      {"counted_by", row.counted_by},
                      {"visit_cost_ns", row.visit_cost_ns},
                      {"breakpoint_slowdown", row.breakpoint_slowdown},
                      {"latency", LatencyJson(row, SummarizeLatency(table, point.point))},
                      {"sampling_slowdown", SlowdownJson(point.sampling_slowdown)},
                      {"delay_factor", DelayFactorJson(DelayFactorOf(table, point.point))},
                      {"experiments_with_few_visits", point.low_visit_experiments},
                      {"experiments_without_it", point.absent_experiments},
                      {"there", StaysJson(row)},
                      {"lines", lines},
                      {"set_aside", set_aside}});
  }
  return points;
}

}  // namespace

const char* VerdictId(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kNoEffect:
      return "no_effect";
    case Verdict::kCannotTell:
      return "cannot_tell";
  }
  return "";
}

const char* SetAsideId(SetAsideReason reason) {
  switch (reason) {
    case SetAsideReason::kNoBaseline:
      return "no_baseline";
    case SetAsideReason::kFewSpeedups:
      return "few_speedups";
    case SetAsideReason::kFewVisits:
      return "few_visits";
    case SetAsideReason::kNeverActive:
      return "never_active";
    case SetAsideReason::kNoFit:
      return "no_fit";
    case SetAsideReason::kNotKnown:
      return "not_known";
    case SetAsideReason::kSmall:
      return "small";
    case SetAsideReason::kNotTried:
      return "not_tried";
  }
  return "";
}

const char* PointKindId(profile::ProgressPointKind kind) {
  switch (kind) {
    case profile::PROGRESS_POINT_KIND_THROUGHPUT:
      return "throughput";
    case profile::PROGRESS_POINT_KIND_LATENCY:
      return "latency";
    case profile::PROGRESS_POINT_KIND_END_TO_END:
      return "end_to_end";
    case profile::PROGRESS_POINT_KIND_BREAKPOINT:
      return "breakpoint";
    case profile::PROGRESS_POINT_KIND_SAMPLED:
      return "sampled";
    default:
      return "unknown";
  }
}

Json ReportJson(const profile::Profile& profile, const ExperimentTable& table,
                const Analysis& analysis, const std::vector<std::string>& notes) {
  return {{"schema", "coz-report"},
          {"schema_version", kReportJsonSchemaVersion},
          {"sessions", SessionsJson(profile)},
          {"totals", TotalsJson(table, analysis)},
          {"notes", notes},
          {"statistics",
           {{"confidence", 0.95},
            {"false_discovery_rate", analysis.options.false_discovery_rate},
            {"no_effect_slope", analysis.options.no_effect_slope},
            {"min_speedups", analysis.options.min_speedups},
            {"min_visits", analysis.options.min_visits}}},
          {"units", UnitsJson(table)},
          {"points", PointsJson(profile, table, analysis)},
          {"own_waits", OwnWaitsJson(profile, table)},
          {"threads", ThreadsJson(BuildThreadTable(profile))},
          {"apis", ApisJson(BuildApiTable(profile))}};
}

std::string JsonText(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace coz::report
