#include "coz/report/compare/verify.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/call_path_name.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/compare/caveats.h"
#include "coz/report/compare/comparable.h"
#include "coz/report/compare/progress.h"
#include "coz/report/compare/unit_match.h"
#include "coz/report/wording/baseline_use.h"
#include "coz/report/wording/nothing_measured.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/surroundings.h"
#include "coz/report/wording/text_layout.h"
#include "coz/report/wording/unit_names.h"
#include "nlohmann/json.hpp"

namespace coz::report {
namespace {

constexpr size_t kNamesShown = 3;
// Of a line's speedup: no curve changes much within it.
constexpr double kSmallStep = 0.05;

// "find" names "ns::find(int)".
bool IsFunctionCalled(std::string name, const std::string& wanted) {
  if (name == wanted) return true;
  name = name.substr(0, name.find('(', name.rfind("::") == std::string::npos ? 0 : 1));
  const size_t scope = name.rfind("::");
  return name == wanted || (scope != std::string::npos && name.substr(scope + 2) == wanted);
}

bool IsPathCalled(const std::string& name, const std::string& wanted) {
  const std::vector<std::string> names = SplitCallPath(name);
  const std::vector<std::string> wanteds = SplitCallPath(wanted);
  return std::equal(names.begin(), names.end(), wanteds.begin(), wanteds.end(), IsFunctionCalled);
}

// "main.cc:7" names /src/main.cc:7, "find" names ns::find(int).
bool IsCalled(const UnitRow& unit, const std::string& wanted) {
  std::string name = unit.Name();
  if (name == wanted) return true;
  if (unit.kind == profile::UNIT_KIND_PATH) return IsPathCalled(name, wanted);
  if (unit.kind == profile::UNIT_KIND_FUNCTION) return IsFunctionCalled(name, wanted);
  return name.size() > wanted.size() + 1 &&
         name.compare(name.size() - wanted.size(), wanted.size(), wanted) == 0 &&
         name[name.size() - wanted.size() - 1] == '/';
}

struct Pair {
  const AnalyzedProfile& before;
  const AnalyzedProfile& after;
  const UnitMatch match;
};

std::optional<size_t> FindUnit(const ExperimentTable& table, const std::string& wanted) {
  for (size_t i = 0; i < table.units.size(); ++i) {
    if (IsCalled(table.units[i], wanted)) return i;
  }
  return std::nullopt;
}

profile::Options OptionsOf(const profile::Profile& profile) {
  return profile.session_size() == 0 ? profile::Options() : profile.session(0).options();
}

absl::Status NoFigures(const AnalyzedProfile& before, const std::string& wanted, bool is_known) {
  const profile::Options options = OptionsOf(before.profile);
  if (is_known && options.fixed_line_size() == 1 && options.fixed_line(0) == wanted) {
    return absl::FailedPreconditionError(
        absl::StrCat("the first profile has no prediction for ", wanted,
                     " yet, though it tried that alone; profile it longer: ",
                     WithItsCommand("coz run --append", before.profile)));
  }
  if (is_known) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "the first profile has no prediction for %s yet; profile it longer, or with %s", wanted,
        absl::StrCat(FixedUnitCommand(options, wanted), TargetWords(before.profile))));
  }
  const UnitNames shown(before.table);
  std::vector<std::string> names;
  for (const PointAnalysis& point : before.analysis.points) {
    for (const LineAnalysis& line : point.lines) {
      if (names.size() < kNamesShown) names.push_back(shown.Place(line.unit));
    }
  }
  return absl::NotFoundError(absl::StrFormat(
      "the first profile knows nothing of %s; %s", wanted,
      names.empty() ? absl::StrCat("it has no predictions at all, profile for longer: ",
                                   WithItsCommand("coz run --append", before.profile))
                    : absl::StrFormat("it has predictions for %s; name one of its: --line %s",
                                      absl::StrJoin(names, ", "), Quoted(names.front()))));
}

bool ShareARun(const AnalyzedProfile& before, const AnalyzedProfile& after) {
  for (const profile::Session& one : before.profile.session()) {
    for (const profile::Session& other : after.profile.session()) {
      if (one.id() == other.id()) return true;
    }
  }
  return false;
}

// Why nothing can be said at a point of which the first profile has a prediction.
std::string NoTime(const char* which, const std::string& point, const profile::Profile& profile) {
  return absl::StrCat("the ", which, " profile has fewer than two baselines at ", Printable(point),
                      ", so what happened is not known; profile longer: ",
                      WithItsCommand("coz run --append", profile));
}

// The unit that is called `wanted` in each profile.
std::string NoLineSpeedup(const Pair& pair, size_t unit, const char* which,
                          const std::string& wanted) {
  const std::optional<size_t> other = FindUnit(pair.after.table, wanted);
  const std::string& function = pair.before.table.units[unit].function;
  if (!pair.match.AfterOf(unit) && other && pair.after.table.units[*other].function != function) {
    return absl::StrCat(wanted, " is in ", Printable(function), " in the first profile and in ",
                        Printable(pair.after.table.units[*other].function),
                        " in the second, which has no line that the first one can have become, so "
                        "by how much it became faster cannot be told; say it with --by PERCENT");
  }
  return absl::StrCat("by how much ", wanted, " became faster cannot be told: the ", which,
                      " profile has no sample of it (renamed, moved or gone?); say it with --by "
                      "PERCENT");
}

// The points of the first profile's prediction are not in the second.
absl::Status NoPoint(const AnalyzedProfile& after, const std::string& point) {
  std::vector<std::string> names;
  for (const PointAnalysis& other : after.analysis.points) {
    names.push_back(Printable(after.table.points[other.point].name));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the second profile has no progress point ", Printable(point),
                   ", at which the first has "
                   "predictions",
                   names.empty() ? "" : absl::StrCat("; it has ", absl::StrJoin(names, ", ")),
                   "; profile the changed program with the same points"));
}

// Indices of one point in both profiles.
struct PointPair {
  size_t before = 0;
  size_t after = 0;
};

// From CPU time per visit; none where the line is gone in the second profile.
std::optional<Estimate> LineSpeedup(const Pair& pair, const PointPair& point, size_t unit) {
  const std::optional<Estimate> cost_before = CpuTimePerVisit(pair.before, point.before, unit);
  if (!cost_before || cost_before->value <= 0) return std::nullopt;
  const std::optional<size_t> unit_after = pair.match.AfterOf(unit);
  std::optional<Estimate> cost_after;
  if (unit_after) cost_after = CpuTimePerVisit(pair.after, point.after, *unit_after);
  if (!cost_after) return std::nullopt;
  return Gain(*cost_before, *cost_after);
}

// What the first profile says of a unit at a point.
struct Prediction {
  const LineAnalysis* line = nullptr;  // of one that was tried
  std::optional<double> gain_limit;    // where its samples alone tell that it brings nothing

  explicit operator bool() const { return line != nullptr || gain_limit.has_value(); }
};

Prediction FindPrediction(const PointAnalysis& point, size_t unit) {
  Prediction found;
  for (const LineAnalysis& line : point.lines) {
    if (line.unit != unit) continue;
    found.line = &line;
    if (line.by_samples) found.gain_limit = line.gain_limit;
  }
  for (const LineSetAside& line : point.set_aside) {
    if (line.unit == unit && line.reason == SetAsideReason::kSmall) {
      found.gain_limit = line.gain_limit;
    }
  }
  return found;
}

// The prediction at the line's speedup, with the speedup's own error in it.
Estimate Predict(const Prediction& prediction, const Estimate& speedup) {
  const double at = std::min(1.0, std::max(0.0, speedup.value));
  if (prediction.gain_limit.has_value()) {
    const double most = *prediction.gain_limit * at;
    return {most / 2, 0, most};
  }
  const LineAnalysis& line = *prediction.line;
  Estimate predicted;
  if (line.curve.points.empty()) {
    predicted.value = line.slope.value * at;
    predicted.low = line.slope.low * at;
    predicted.high = line.slope.high * at;
  } else {
    predicted = line.curve.At(at);
  }
  const double half = std::hypot((predicted.high - predicted.low) / 2,
                                 line.slope.value * (speedup.high - speedup.low) / 2);
  predicted.low = predicted.value - half;
  predicted.high = predicted.value + half;
  return predicted;
}

double LargestTried(const LineAnalysis& line) {
  double largest = 0;
  for (const SpeedupEstimate& tried : line.speedups) {
    largest = std::max(largest, tried.virtual_speedup);
  }
  return largest;
}

// What happened may be nothing: then it tells of a prediction only where both are precise enough
// for "no gain". `no_gain` is the largest gain of the program that is none, at the line's speedup.
bool IsNoGainAsPredicted(const Estimate& predicted, const Estimate& happened, double no_gain) {
  return predicted.high <= no_gain && happened.high <= no_gain && happened.low >= -no_gain;
}

// Nothing was predicted of that.
bool IsSlower(const Verification& v) { return v.line_speedup.high < 0; }

Outcome Judge(const Estimate& line_speedup, const Estimate& predicted, const Estimate& happened,
              double no_effect_slope) {
  if (!(line_speedup.low > 0)) return Outcome::kUntested;
  const double allowed =
      std::hypot((predicted.high - predicted.low) / 2, (happened.high - happened.low) / 2);
  const double error = predicted.value - happened.value;
  if (std::fabs(error) > allowed) return error > 0 ? Outcome::kTooHigh : Outcome::kTooLow;
  if (happened.low > 0 || happened.high < 0) return Outcome::kHeld;
  const bool is_something = predicted.low > 0 || predicted.high < 0;
  const double no_gain = no_effect_slope * std::min(1.0, line_speedup.value);
  return !is_something && IsNoGainAsPredicted(predicted, happened, no_gain) ? Outcome::kHeld
                                                                            : Outcome::kUnclear;
}

std::string Percent(const Estimate& e) {
  if (e.low == e.high) return absl::StrFormat("%.3g %%", e.value * 100);
  return absl::StrFormat("%+.1f %% (%+.1f to %+.1f)", e.value * 100, e.low * 100, e.high * 100);
}

std::string Predicted(const Verification& v) {
  return v.is_limit ? absl::StrFormat("at most %+.1f %%, by its samples", v.predicted.high * 100)
                    : Percent(v.predicted);
}

std::optional<PointPair> InBoth(const Pair& pair, size_t point) {
  const PointRow& row = pair.before.table.points[point];
  for (const PointAnalysis& other : pair.after.analysis.points) {
    const PointRow& other_row = pair.after.table.points[other.point];
    if (other_row.name == row.name && other_row.kind == row.kind) {
      return PointPair{point, other.point};
    }
  }
  return std::nullopt;
}

// What other programs did beside the two runs.
struct Others {
  BaselineUse before;
  BaselineUse after;

  explicit Others(const Pair& pair)
      : before(SumBaselines(pair.before.profile, pair.before.table)),
        after(SumBaselines(pair.after.profile, pair.after.table)) {}

  // The run that they disturbed so much more than the other that this may be why the prediction
  // held, or did not; "" where it cannot be. The first run's figures are in the prediction, too.
  // The second one was at most made slower: what came nevertheless, as was predicted or more, came.
  std::string DisturbedRun(Outcome outcome, const Estimate& happened) const {
    if (outcome == Outcome::kUntested) return "";
    if (OthersCrowdMore(before, after)) return "first";
    const bool came =
        outcome == Outcome::kTooLow || (outcome == Outcome::kHeld && happened.low > 0);
    return !came && OthersCrowdMore(after, before) ? "second" : "";
  }
};

// The line with a prediction whose CPU time for each visit fell most. Where none fell, as far as
// samples tell, the one whose time rose most.
absl::StatusOr<size_t> LineThatChanged(const Pair& pair) {
  std::optional<size_t> fastest;
  std::optional<size_t> slowest;
  double most_saved = 0;
  double most_lost = 0;
  for (const PointAnalysis& point : pair.before.analysis.points) {
    const std::optional<PointPair> both = InBoth(pair, point.point);
    if (!both) continue;
    for (const LineAnalysis& line : point.lines) {
      const auto speedup = LineSpeedup(pair, *both, line.unit);
      if (!speedup) continue;
      const double saved =
          speedup->value * CpuTimePerVisit(pair.before, point.point, line.unit)->value;
      if (speedup->low > 0 && saved > most_saved) {
        most_saved = saved;
        fastest = line.unit;
      } else if (speedup->high < 0 && -saved > most_lost) {
        most_lost = -saved;
        slowest = line.unit;
      }
    }
  }
  if (fastest) return *fastest;
  if (slowest) return *slowest;
  const std::string same = WhichBuildBothAreOf(pair.before, pair.after);
  if (!same.empty())
    return absl::FailedPreconditionError(absl::StrCat(
        same, "; profile the changed program into another file: coz run -o after.pb --- PROGRAM"));
  const UnitNames names(pair.before.table);
  return absl::FailedPreconditionError(absl::StrFormat(
      "of the %s that the first profile has predictions for, none became faster, as far as samples "
      "tell; name what was made faster: coz verify --line %s BEFORE AFTER",
      names.Plural(), names.word() == "line" ? "FILE:LINE" : absl::AsciiStrToUpper(names.word())));
}

absl::StatusOr<size_t> WantedUnit(const Pair& pair, const VerifyOptions& options) {
  if (options.line.empty()) return LineThatChanged(pair);
  if (const std::optional<size_t> unit = FindUnit(pair.before.table, options.line)) return *unit;
  return NoFigures(pair.before, options.line, false);
}

// Its names, without figures.
Verification Describe(const Pair& pair, size_t point, size_t unit) {
  const UnitNames names(pair.before.table);
  Verification v;
  v.point = pair.before.table.points[point].name;
  v.line = pair.before.table.units[unit].Name();
  v.shown = names.Place(unit);
  if (const std::optional<size_t> after = pair.match.AfterOf(unit)) {
    v.line_after = pair.after.table.units[*after].Name();
    v.shown = NameWithOther(v.shown, "now", UnitNames(pair.after.table).Place(*after));
  }
  v.unit_word = names.word();
  return v;
}

// FAILED_PRECONDITION where a figure is missing at the point.
absl::StatusOr<Verification> VerifyAt(const Pair& pair, const PointPair& point, size_t unit,
                                      const Prediction& prediction, const VerifyOptions& options) {
  Verification v = Describe(pair, point.before, unit);
  const auto time_before = TimePerVisit(pair.before, point.before);
  const auto time_after = TimePerVisit(pair.after, point.after);
  if (!time_before || time_before->value <= 0) {
    return absl::FailedPreconditionError(NoTime("first", v.point, pair.before.profile));
  }
  if (!time_after) {
    return absl::FailedPreconditionError(NoTime("second", v.point, pair.after.profile));
  }
  if (options.speedup) {
    v.line_speedup = {*options.speedup, *options.speedup, *options.speedup};
  } else if (const auto measured = LineSpeedup(pair, point, unit)) {
    v.line_speedup = *measured;
  } else {
    const auto cost = CpuTimePerVisit(pair.before, point.before, unit);
    const bool is_first = !cost || cost->value <= 0;
    return absl::FailedPreconditionError(NoLineSpeedup(
        pair, unit, is_first ? "first" : "second", options.line.empty() ? v.line : options.line));
  }
  v.is_limit = prediction.gain_limit.has_value();
  if (!v.is_limit) v.largest_tried = LargestTried(*prediction.line);
  if (IsSlower(v)) {
    v.is_limit = false;
    v.predicted = {std::nan(""), std::nan(""), std::nan("")};
  } else {
    v.predicted = Predict(prediction, v.line_speedup);
  }
  v.happened = Gain(*time_before, *time_after);
  v.outcome =
      Judge(v.line_speedup, v.predicted, v.happened, pair.before.analysis.options.no_effect_slope);
  const Others others(pair);
  v.note = NoteOnOthers(pair.before, pair.after);
  v.disturbed_run = others.DisturbedRun(v.outcome, v.happened);
  if (!v.disturbed_run.empty()) v.outcome = Outcome::kUnclear;
  v.error = v.predicted.value - v.happened.value;
  return v;
}

// At all points that both profiles have.
absl::StatusOr<std::vector<Verification>> VerifyUnit(const Pair& pair, size_t unit,
                                                     const VerifyOptions& options) {
  std::vector<Verification> found;
  absl::Status missing;
  std::string predicted_at;
  for (const PointAnalysis& point : pair.before.analysis.points) {
    const Prediction prediction = FindPrediction(point, unit);
    if (!prediction) continue;
    if (predicted_at.empty()) predicted_at = pair.before.table.points[point.point].name;
    const std::optional<PointPair> both = InBoth(pair, point.point);
    if (!both) continue;
    absl::StatusOr<Verification> one = VerifyAt(pair, *both, unit, prediction, options);
    if (one.ok()) {
      found.push_back(*std::move(one));
    } else {
      missing = one.status();
    }
  }
  if (!found.empty()) return found;
  if (!missing.ok()) return missing;
  if (!predicted_at.empty()) return NoPoint(pair.after, predicted_at);
  return NoFigures(pair.before,
                   options.line.empty() ? pair.before.table.units[unit].Name() : options.line,
                   true);
}

}  // namespace

absl::StatusOr<std::vector<Verification>> Verify(const AnalyzedProfile& before,
                                                 const AnalyzedProfile& after,
                                                 const VerifyOptions& options) {
  for (const AnalyzedProfile* whole : {&before, &after}) {
    const auto nothing = FindNothingMeasured(whole->profile, whole->table, whole->analysis);
    if (!nothing) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "in the ", whole == &before ? "first" : "second", " profile ", OneSentence(*nothing)));
  }
  std::string apart = WhyNoUnitInCommon(before, after);
  if (apart.empty() && options.line.empty()) apart = WhyNoPointInCommon(before, after);
  if (!apart.empty()) return absl::FailedPreconditionError(apart);
  if (!options.line.empty() && !FindUnit(before.table, options.line)) {
    return NoFigures(before, options.line, false);
  }
  if (ShareARun(before, after)) {
    return absl::FailedPreconditionError(
        "both profiles are of the same run, so nothing changed between them; profile the changed "
        "program into another file: coz run -o after.pb --- PROGRAM");
  }
  const Pair pair = {before, after, UnitMatch(before.table, after.table)};
  const absl::StatusOr<size_t> unit = WantedUnit(pair, options);
  if (!unit.ok()) return unit.status();
  return VerifyUnit(pair, *unit, options);
}

const char* OutcomeId(Outcome outcome) {
  switch (outcome) {
    case Outcome::kHeld:
      return "held";
    case Outcome::kTooHigh:
      return "too_high";
    case Outcome::kTooLow:
      return "too_low";
    case Outcome::kUntested:
      return "untested";
    case Outcome::kUnclear:
      return "unclear";
  }
  return "";
}

// The line's own speedup may be nothing or something.
bool IsLineSpeedupOpen(const Verification& v) { return v.line_speedup.high > kSmallStep; }

std::string OutcomeText(const Verification& v) {
  switch (v.outcome) {
    case Outcome::kHeld:
      return "the prediction held";
    case Outcome::kTooHigh:
      return "the prediction was too high, less came of it";
    case Outcome::kTooLow:
      return "the prediction was too low, more came of it";
    case Outcome::kUntested:
      if (IsSlower(v)) return absl::StrCat("not tested, as the ", v.unit_word, " became slower");
      return IsLineSpeedupOpen(v)
                 ? absl::StrCat("not tested, as it is not known whether the ", v.unit_word,
                                " became faster")
                 : absl::StrCat("not tested, as the ", v.unit_word, " did not become faster");
    case Outcome::kUnclear:
      return v.disturbed_run.empty()
                 ? "not known, as the runs may as well have been equally fast"
                 : absl::StrCat("not known, as other programs took CPU time from the ",
                                v.disturbed_run, " run, much more than from the other");
  }
  return "";
}

// "" where the note says what to do: to profile both again, so not to go on with either.
const char* Remedy(const Verification& v) {
  if (v.outcome == Outcome::kUntested && IsSlower(v)) {
    return "  what it costs the program, and what else changed, says: coz diff BEFORE AFTER\n";
  }
  const bool is_again = !v.note.empty();
  if (v.outcome == Outcome::kUntested && IsLineSpeedupOpen(v)) {
    return is_again ? "  if you know what changed, say it: --by PERCENT\n"
                    : "  go on in both profiles with --append, or say what changed: --by PERCENT\n";
  }
  if (is_again && v.outcome == Outcome::kUnclear) return "";
  if (v.outcome == Outcome::kUntested) {
    return "  is `after` the profile of the changed program? If so, say what changed: --by "
           "PERCENT\n";
  }
  return v.outcome == Outcome::kUnclear
             ? "  leave the machine idle, and go on in both profiles with --append\n"
             : "";
}

// Where the prediction reaches further than the experiments.
std::string Reach(const Verification& v) {
  if (v.largest_tried == 0 || v.line_speedup.value <= v.largest_tried + kSmallStep) return "";
  return absl::StrFormat(
      "  speedups up to %.0f %% were tried; beyond, the prediction goes on as the curve ends\n",
      100 * v.largest_tried);
}

std::string VerificationText(const Verification& v) {
  const bool is_slower = IsSlower(v);
  const Estimate& e = v.line_speedup;
  const Estimate slowdown = {-e.value, -e.high, -e.low};
  return absl::StrFormat(
      "%s at progress point %s: %s\n"
      "  it became %s by        %s\n"
      "%s"
      "  what happened              %s\n%s%s%s",
      v.shown, Printable(v.point), OutcomeText(v), is_slower ? "slower" : "faster",
      Percent(is_slower ? slowdown : e),
      is_slower ? "" : absl::StrCat("  predicted for the program  ", Predicted(v), "\n"),
      Percent(v.happened), Reach(v), Remedy(v),
      v.note.empty() ? "" : absl::StrCat("  note: ", v.note, "\n"));
}

nlohmann::ordered_json VerificationJson(const Verification& v) {
  const auto estimate = [](const Estimate& e) {
    const auto number = [](double value) {
      return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
    return nlohmann::ordered_json{
        {"value", number(e.value)}, {"low", number(e.low)}, {"high", number(e.high)}};
  };
  return {{"point", v.point},
          {"line", v.line},
          {"line_after",
           v.line_after.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(v.line_after)},
          {"line_speedup", estimate(v.line_speedup)},
          {"largest_tried", v.largest_tried},
          {"predicted", estimate(v.predicted)},
          {"predicted_by_samples", v.is_limit},
          {"happened", estimate(v.happened)},
          {"outcome", OutcomeId(v.outcome)},
          {"note", v.note.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(v.note)}};
}

}  // namespace coz::report
