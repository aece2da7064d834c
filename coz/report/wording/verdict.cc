#include "coz/report/wording/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/quoted_gain.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/analysis/systematic_error.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/curve.h"
#include "coz/report/wording/error_cause.h"
#include "coz/report/wording/headline.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

constexpr double kNsPerSecond = 1e9;

Estimate Negated(const Estimate& e) { return {-e.value, -e.high, -e.low}; }

std::string What(const PointRow& point) {
  if (point.kind == profile::PROGRESS_POINT_KIND_END_TO_END) return "the whole run";
  return absl::StrCat("`", Printable(point.name), "`");
}

bool MeasuresTime(const PointRow& point) {
  return point.kind == profile::PROGRESS_POINT_KIND_LATENCY ||
         point.kind == profile::PROGRESS_POINT_KIND_END_TO_END;
}

// "making this 30 % faster speeds `requests` up by 12 % (9 to 15)"
std::string Effect(const LineAnalysis& line, double speedup, const PointRow& point) {
  const Estimate at = line.curve.At(speedup);
  const bool gains = at.value >= 0;
  const std::string amount = WithInterval(gains ? at : Negated(at));
  std::string text = absl::StrFormat("making this %s %% faster ", PercentText(speedup));
  if (MeasuresTime(point)) {
    absl::StrAppend(&text, "makes ", What(point), " ", amount, gains ? " shorter" : " longer");
  } else {
    absl::StrAppend(&text, gains ? "speeds " : "slows ", What(point),
                    gains ? " up by " : " down by ", amount);
  }
  return text;
}

// The same as a clause; "" where the line goes on as it began.
std::string Clause(const std::string& beyond) {
  return beyond.empty() ? "" : absl::StrCat("; ", beyond);
}

std::string InWords(uint64_t ns) {
  const double seconds = static_cast<double>(ns) / kNsPerSecond;
  if (seconds > 48 * 3600) return "days";
  if (seconds >= 2 * 3600) return absl::StrFormat("about %.0f h", seconds / 3600);
  if (seconds >= 120) return absl::StrFormat("about %.0f min", std::ceil(seconds / 60));
  const double step = seconds > 20 ? 10 : 5;
  return absl::StrFormat("about %.0f s", std::max(step, std::ceil(seconds / step) * step));
}

// How much longer a run, by this one, makes an interval narrower than `target` to one side. `rest`
// is what no run makes narrower. Infinite: none is long enough.
double RunsNeeded(double chance, double rest, double target) {
  if (!(rest < target)) return std::numeric_limits<double>::infinity();
  return chance * chance / (target * target - rest * rest);
}

// The same until the quoted gain leaves out 0.
double RunsToTellGain(const LineAnalysis& line) {
  const QuotedGain quoted = QuotedGainOf(line);
  const Estimate& gain = quoted.program_speedup;
  const bool gains = gain.value > 0;
  const double half = gains ? gain.value - gain.low : gain.high - gain.value;
  const double rest = line.systematic.HalfWidth(gain.value, quoted.virtual_speedup,
                                                gains ? Side::kBelow : Side::kAbove);
  const double chance = std::sqrt(std::max(0.0, half * half - rest * rest));
  return RunsNeeded(chance, rest, std::fabs(gain.value));
}

// The same until there is a verdict: the slope and the gain leave out 0, or the slope is within
// what counts as no gain. A slope of 0 has no other verdict.
double RunsToTell(const LineAnalysis& line, const VerdictContext& context) {
  const double slope = line.slope.value;
  const double chance = (line.statistical_slope.high - line.statistical_slope.low) / 2;
  const auto needed = [&](double target, Side side) {
    return RunsNeeded(chance, line.systematic.HalfWidth(slope, 1, side), target);
  };
  const double effect = std::max(needed(std::fabs(slope), slope > 0 ? Side::kBelow : Side::kAbove),
                                 RunsToTellGain(line));
  return std::min(effect, needed(context.options.no_effect_slope - std::fabs(slope), Side::kAbove));
}

// The cause that widens the slope's interval most.
std::string LargestCause(const LineAnalysis& line) {
  const std::vector<ErrorTerm>& terms = line.systematic.terms;
  const auto half = [&line](const ErrorTerm& t) { return t.HalfWidth(line.slope.value, 1); };
  const auto largest = std::max_element(
      terms.begin(), terms.end(),
      [&half](const ErrorTerm& a, const ErrorTerm& b) { return half(a) < half(b); });
  return largest == terms.end() ? "" : ErrorCauseText(largest->cause, line.systematic.facts);
}

std::string NotYetKnown(const LineAnalysis& line, const VerdictContext& context) {
  if (line.missed_in_stretch_ns > 0 && line.missed_by_perf_events) {
    return absl::StrFormat(
        "not yet known: no gain was seen, but threads ran only %.2g ms between two waits, and perf "
        "events slowed each switch between them, so that effects look smaller than they are",
        line.missed_in_stretch_ns / 1e6);
  }
  if (line.missed_in_stretch_ns > 0) {
    return absl::StrFormat(
        "not yet known: no gain was seen, but threads ran only %.2g ms between two waits, and a "
        "sample stands for far more time, so that effects look smaller than they are",
        line.missed_in_stretch_ns / 1e6);
  }
  if (std::isinf(RunsToTell(line, context))) {
    const std::string why = line.IsSure() ? LargestCause(line) : DoubtsText(line.systematic);
    return absl::StrCat("not yet known, and a longer run tells no more: ", why);
  }
  std::string text = "not yet known";
  const std::optional<uint64_t> more = RemainingNs(line, context);
  if (more.has_value()) absl::StrAppend(&text, ", ", InWords(*more), " more");
  return line.IsSure() ? text : absl::StrCat(text, "; ", DoubtsText(line.systematic));
}

// By its share of the CPU time alone.
std::string SmallSentence(double gain_limit, const PointRow& point) {
  const bool is_run = point.kind == profile::PROGRESS_POINT_KIND_END_TO_END;
  return absl::StrFormat(
      "no gain: it takes so little CPU time that %s %s %s %% at most, "
      "however fast this gets",
      What(point), is_run ? "gets shorter by" : "gains", PercentText(gain_limit));
}

std::string NoGain(const LineAnalysis& line, const PointRow& point) {
  if (line.by_samples) return SmallSentence(line.gain_limit, point);
  if (line.curve.points.empty()) return "no gain";
  const Estimate end = line.curve.points.back().program_speedup;
  const char* change = "changes by";
  if (end.low > 0) change = MeasuresTime(point) ? "gets shorter by" : "gains";
  if (end.high < 0) change = MeasuresTime(point) ? "gets longer by" : "loses";
  const Estimate shown = end.high < 0 ? Negated(end) : end;
  const bool by_pauses = end.high < 0 && line.pause_allowance > 0;
  return absl::StrFormat("%s: however fast this gets, %s %s %s to %s %%%s",
                         end.low > 0 ? "hardly any gain" : "no gain", What(point), change,
                         PercentText(shown.low), PercentText(shown.high),
                         by_pauses ? ", which pauses alone may cost" : "");
}

// Experiments tell that it hurts, and not why.
const char* WhatMayHurt(const PointRow& point) {
  return point.kind == profile::PROGRESS_POINT_KIND_LATENCY
             ? "longer queues behind it, or contention"
             : "contention";
}

std::string SentenceOfSureRun(const LineAnalysis& line, const PointRow& point,
                              const VerdictContext& context) {
  const Curve& curve = line.curve;
  switch (line.verdict) {
    case Verdict::kFaster:
      return absl::StrCat(Effect(line, HeadlineOf(line).virtual_speedup, point),
                          Clause(HeadlineOf(line).beyond));
    case Verdict::kSlower:
      return absl::StrCat("speeding this up hurts, as by ", WhatMayHurt(point), "; ",
                          Effect(line, HeadlineOf(line).virtual_speedup, point));
    case Verdict::kNoEffect:
      // Gain and loss can add up to a slope of nothing.
      if (curve.bend.has_value() && curve.At(curve.bend->virtual_speedup).low > 0) {
        return absl::StrCat(Effect(line, curve.bend->virtual_speedup, point),
                            Clause(BeyondBend(curve)));
      }
      return NoGain(line, point);
    case Verdict::kCannotTell:
      return NotYetKnown(line, context);
  }
  return "";
}

}  // namespace

absl::string_view VerdictWord(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "worth it";
    case Verdict::kSlower:
      return "hurts";
    case Verdict::kNoEffect:
      return "no gain";
    case Verdict::kCannotTell:
      return "not yet known";
  }
  return "";
}

std::string VerdictWord(const LineAnalysis& line) {
  const bool unsure = !line.IsSure() && line.verdict != Verdict::kCannotTell;
  return absl::StrCat(VerdictWord(line.verdict), unsure ? "?" : "");
}

std::string VerdictSentence(const LineAnalysis& line, const PointRow& point,
                            const VerdictContext& context) {
  std::string text = SentenceOfSureRun(line, point, context);
  if (!line.IsSure() && line.verdict != Verdict::kCannotTell) {
    absl::StrAppend(&text, "; not sure: ", DoubtsText(line.systematic));
  }
  return context.profile == nullptr ? text : WithItsCommand(text, *context.profile);
}

std::string SetAsideSentence(const LineSetAside& line, const PointRow& point,
                             const VerdictContext& context) {
  const bool more_is_no_use = context.profile != nullptr && MakesBaselinesAlone(*context.profile);
  if (more_is_no_use && line.reason != SetAsideReason::kSmall) {
    return "set aside: only baselines were to be made, by --fixed-speedup=0";
  }
  std::string text;
  switch (line.reason) {
    case SetAsideReason::kSmall:
      return SmallSentence(line.gain_limit, point);
    case SetAsideReason::kNoBaseline:
      text = "set aside: no experiment at 0 % to compare with";
      break;
    case SetAsideReason::kFewSpeedups:
      text = absl::StrFormat("set aside: needs %d more speedup value%s", line.missing_speedups,
                             line.missing_speedups == 1 ? "" : "s");
      break;
    case SetAsideReason::kFewVisits:
      return absl::StrFormat("set aside: fewer than %d visits to %s in each experiment",
                             static_cast<int>(context.options.min_visits), What(point));
    case SetAsideReason::kNeverActive:
      return "set aside: it did not run during its experiments";
    case SetAsideReason::kNoFit:
      text = "set aside: too few experiments for a slope";
      break;
    case SetAsideReason::kNotKnown:
      if (!std::isfinite(line.times_needed)) {
        return "set aside: not yet known, and a longer run like this tells no more; its notes say "
               "what "
               "went wrong";
      }
      text = "set aside: not yet known, the slope may be anything from a loss to all of the time";
      break;
    case SetAsideReason::kNotTried:
      text = "set aside: no experiment yet";
      break;
  }
  const std::optional<uint64_t> more = RemainingNs(line, context);
  if (more.has_value()) absl::StrAppend(&text, ", ", InWords(*more), " more");
  return text;
}

std::optional<uint64_t> RemainingNs(const LineAnalysis& line, const VerdictContext& context) {
  if (line.verdict != Verdict::kCannotTell || !std::isfinite(line.slope.high)) return std::nullopt;
  if (line.missed_in_stretch_ns > 0) return std::nullopt;
  const double longer = RunsToTell(line, context) - 1;
  if (!(longer > 0) || std::isinf(longer)) return std::nullopt;
  return static_cast<uint64_t>(std::min(longer * static_cast<double>(context.run_time_ns), 1e18));
}

std::optional<uint64_t> RemainingNs(const LineSetAside& line, const VerdictContext& context) {
  const bool more_helps =
      line.reason == SetAsideReason::kFewSpeedups || line.reason == SetAsideReason::kNoFit ||
      line.reason == SetAsideReason::kNoBaseline || line.reason == SetAsideReason::kNotKnown;
  const bool is_untried = line.reason == SetAsideReason::kNotTried;
  if ((!more_helps || line.experiments == 0) && !is_untried) return std::nullopt;
  if (!std::isfinite(line.times_needed)) return std::nullopt;
  if (line.reason == SetAsideReason::kNotKnown || is_untried) {
    const double run_ns = static_cast<double>(context.run_time_ns);
    return static_cast<uint64_t>(std::min((line.times_needed - 1) * run_ns, 1e18));
  }
  const double missing = std::max(1, line.missing_speedups) / kSpeedupShare;
  return static_cast<uint64_t>(missing * static_cast<double>(context.run_time_ns) /
                               line.experiments);
}

}  // namespace coz::report
