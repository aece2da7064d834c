#include "coz/report/wording/headline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace coz::report {
namespace {

// The widest interval of a bend's place that is shown as two figures.
constexpr double kWidthOfRange = 0.45;
// From here on a curve is not called straight.
constexpr double kMayBend = 0.3;
constexpr double kLeastSlopeShown = 0.005;

// What a faster line brings beyond the bend.
std::string After(const Bend& bend) {
  const double before = bend.slope_before.value;
  const Estimate& after = bend.slope_after;
  if (after.high < 0) return before > 0 ? "partly lost again" : "hurts";
  if (before <= 0 || after.value > before) return "larger gain";
  if (after.low <= 0 && after.value < before / 2) return "nothing more";
  return after.value < before / 5 ? "hardly more" : "smaller gain";
}

// Not where the interval ends at what was tried, as the bend may then lie outside.
bool HasRange(const Curve& curve) {
  const Bend& bend = *curve.bend;
  const bool is_between = bend.low > 0 && bend.high < curve.points.back().virtual_speedup;
  return is_between && bend.high - bend.low <= kWidthOfRange;
}

// "30 to 60 %", in the steps in which speedups are tried.
std::string RangeOf(const Bend& bend) {
  constexpr double kStep = 0.05;
  const double low = std::floor(bend.low / kStep + 1e-9) * kStep;
  const double high = std::ceil(bend.high / kStep - 1e-9) * kStep;
  return absl::StrCat(PercentText(low), " to ", PercentText(high), " %");
}

// "gains less beyond about 30 to 60 %": how much less depends on the place, so it is not known.
std::string AfterRange(const Bend& bend) {
  const std::string after = After(bend);
  const bool rises = after == "nothing more" || after == "hardly more" || after == "smaller gain";
  return absl::StrCat(rises ? "gains less" : after, " beyond about ", RangeOf(bend));
}

std::string WithSign(const Estimate& gain) {
  std::string text = WithInterval(gain);
  if (gain.value > 0 && PercentText(gain.value) != "0") text.insert(0, "+");
  return text;
}

// Of a curve whose shape is not known.
std::string AtTheEnd(const Curve& curve) {
  const CurvePoint& last = curve.points.back();
  return absl::StrCat("at ", PercentText(last.virtual_speedup),
                      " %: ", WithSign(last.program_speedup));
}

// Whether the slope has another sign than the gain beside it, as the curve is not quite straight.
bool IsOtherwiseAtQuoted(const LineAnalysis& line) {
  if (line.curve.points.empty()) return false;
  const double gain = QuotedGainOf(line).program_speedup.value;
  const bool is_shown = PercentText(gain) != "0" && std::fabs(line.slope.value) >= kLeastSlopeShown;
  return is_shown && (gain > 0) != (line.slope.value > 0);
}

// Where the gain at the largest speedup is the one that is quoted, it is not said twice.
std::string AfterQuoted(const LineAnalysis& line, const std::string& beyond) {
  if (line.curve.points.empty() || beyond != AtTheEnd(line.curve)) return beyond;
  const double largest = line.curve.points.back().virtual_speedup;
  const bool is_quoted = std::fabs(QuotedGainOf(line).virtual_speedup - largest) < 1e-9;
  return is_quoted ? "its way there is hardly known" : beyond;
}

Estimate Scaled(const Estimate& slope, double speedup) {
  return {slope.value * speedup, slope.low * speedup, slope.high * speedup};
}

}  // namespace

Headline HeadlineOf(const LineAnalysis& line) {
  Headline headline;
  if (line.by_samples) {
    headline = HeadlineOfLimit(line.gain_limit);
    const Estimate tried = Scaled(line.slope, kQuotedSpeedup);
    headline.program_speedup.value = tried.value;
    headline.program_speedup.low = tried.low;
    return headline;
  }
  const QuotedGain quoted = QuotedGainOf(line);
  headline.virtual_speedup = quoted.virtual_speedup;
  headline.program_speedup = quoted.program_speedup;
  headline.beyond = AfterQuoted(line, BeyondBend(line.curve));
  return headline;
}

Headline HeadlineOfLimit(double gain_limit) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  Headline headline;
  headline.is_limit = true;
  headline.program_speedup = {kUnknown, kUnknown, gain_limit * kQuotedSpeedup};
  return headline;
}

std::string GainHead() { return absl::StrCat("gain at ", PercentText(kQuotedSpeedup), " %"); }

std::string GainText(const Headline& headline) {
  if (headline.is_limit) {
    return absl::StrCat("at most ", PercentText(headline.program_speedup.high), " %");
  }
  std::string text = WithSign(headline.program_speedup);
  if (std::fabs(headline.virtual_speedup - kQuotedSpeedup) < 1e-9) return text;
  return absl::StrCat(text, " at ", PercentText(headline.virtual_speedup), " %");
}

std::string ShapeText(const LineAnalysis& line) {
  if (line.by_samples) return "by its samples";
  std::string beyond = BeyondBend(line.curve);
  if (beyond.empty() && IsOtherwiseAtQuoted(line)) beyond = AtTheEnd(line.curve);
  if (!beyond.empty()) return AfterQuoted(line, beyond);
  const double value =
      std::fabs(line.slope.value) < kLeastSlopeShown ? 0 : line.slope.value;  // no "-0.00"
  return absl::StrFormat("slope %.2f %s", value, PlusMinus(line.slope));
}

std::string HeadlineText(const LineAnalysis& line) {
  Headline headline = HeadlineOf(line);
  const std::string at = PercentText(headline.virtual_speedup);
  headline.virtual_speedup = kQuotedSpeedup;  // it stands in front already
  return absl::StrCat(at, " % faster: ", GainText(headline), ", ", ShapeText(line));
}

std::string BeyondBend(const Curve& curve) {
  if (!curve.bend.has_value()) return curve.weight_of_bent < kMayBend ? "" : AtTheEnd(curve);
  const Bend& bend = *curve.bend;
  if (IsPlaced(bend)) {
    return absl::StrCat(After(bend), " beyond ", PercentText(bend.virtual_speedup), " %");
  }
  return HasRange(curve) ? AfterRange(bend) : AtTheEnd(curve);
}

std::string PlaceOfBend(const Curve& curve) {
  const Bend& bend = *curve.bend;
  if (IsPlaced(bend)) return WithInterval({bend.virtual_speedup, bend.low, bend.high});
  return HasRange(curve) ? RangeOf(bend) : "not known";
}

std::string PlusMinus(const Estimate& estimate) {
  if (!std::isfinite(estimate.low)) return "±?";
  return absl::StrFormat("±%.2f", (estimate.high - estimate.low) / 2);
}

std::string PercentText(double fraction) {
  const double percent = 100 * fraction;
  const double scale = std::fabs(percent) < 1 ? 10 : 1;
  const double rounded = std::round(percent * scale) / scale;
  if (rounded == 0) return "0";
  return absl::StrFormat("%.*f", rounded == std::round(rounded) ? 0 : 1, rounded);
}

std::string WithInterval(const Estimate& estimate) {
  std::string value = absl::StrCat(PercentText(estimate.value), " %");
  if (!std::isfinite(estimate.low)) return value;
  return absl::StrFormat("%s (%s to %s)", value, PercentText(estimate.low),
                         PercentText(estimate.high));
}

}  // namespace coz::report
