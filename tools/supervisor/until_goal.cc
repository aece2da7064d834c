#include "tools/supervisor/until_goal.h"

#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/report/analysis.h"
#include "coz/report/experiment_table.h"

namespace coz {
namespace {

constexpr uint64_t kRestPerLook = 50;

}  // namespace

absl::StatusOr<double> ParseWidth(const std::string& text) {
  char* end = nullptr;
  const double points = strtod(text.c_str(), &end);
  const bool is_number = end != text.c_str() && (*end == '\0' || (*end == '%' && end[1] == '\0'));
  // An interval is hardly ever narrower than 0.1 points; one of 200 says nothing.
  if (!is_number || !(points >= 0.1 && points <= 200)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--until=%s is not a width from 0.1 to 200 percentage points; write --until=10", text));
  }
  return points / 100;
}

UntilGoal::UntilGoal(double width, double uniform_share, const std::vector<UnitId>& only) {
  goal_.width = width;
  goal_.uniform_share = uniform_share;
  // In the profile, ids of units count from 1.
  for (UnitId unit : only) goal_.only_ids.insert(unit + 1);
}

bool UntilGoal::Update(const profile::Profile& profile, uint64_t now_ns) {
  if (profile.experiment_size() == experiments_ || now_ns < next_look_ns_) return false;
  experiments_ = profile.experiment_size();
  const uint64_t start_ns = MonotonicNowNs();
  const ExperimentTable table = BuildExperimentTable(profile);
  state_ = JudgePrecision(profile, table, Analyze(profile, table), goal_);
  focus_.clear();
  for (const OpenUnit& open : state_.open) {
    focus_.emplace_back(table.units[open.unit].id - 1, open.experiments);
  }
  next_look_ns_ = now_ns + kRestPerLook * (MonotonicNowNs() - start_ns);
  return true;
}

std::string UntilGoal::Text() const {
  std::string text;
  if (std::isfinite(state_.width)) {
    text =
        absl::StrFormat("widest interval %.1f of %g points", 100 * state_.width, 100 * goal_.width);
  } else {
    text = absl::StrCat(state_.open.size(), " lines without a figure yet");
  }
  if (state_.remaining_ns > 0) {
    const double seconds = static_cast<double>(state_.remaining_ns) / kNsPerSecond;
    absl::StrAppend(&text, seconds < 100
                               ? absl::StrFormat(", about %.0f s more", std::ceil(seconds / 5) * 5)
                               : absl::StrFormat(", about %.0f min more", std::ceil(seconds / 60)));
  }
  return text;
}

}  // namespace coz
