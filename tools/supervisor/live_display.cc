#include "tools/supervisor/live_display.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/report/analysis.h"
#include "coz/report/experiment_table.h"
#include "coz/report/report.h"

namespace coz {
namespace {

constexpr uint64_t kRefreshNs = 500 * kNsPerMs;
constexpr size_t kLeaders = 3;

std::string Headline(const LiveDisplay::State& state) {
  std::string line = absl::StrFormat("coz: %.0f s", static_cast<double>(state.elapsed_ns) / 1e9);
  if (state.duration_ns != 0) {
    absl::StrAppendFormat(&line, " of %.0f", static_cast<double>(state.duration_ns) / 1e9);
  }
  absl::StrAppendFormat(&line, ", %d experiments", state.experiments);
  if (state.waiting_for_progress) {
    absl::StrAppend(&line, ", waiting for a progress point to be visited");
  } else if (!state.current.empty()) {
    absl::StrAppend(&line, ", now ", state.current);
  }
  return line;
}

}  // namespace

std::vector<std::string> Leaders(const profile::Profile& profile, size_t count) {
  const ExperimentTable table = BuildExperimentTable(profile);
  AnalysisOptions options;
  options.min_speedups = 3;  // a first impression; the report asks for more
  const Analysis analysis = Analyze(profile, table, options);
  std::vector<std::string> leaders;
  if (analysis.points.empty()) return leaders;
  const PointAnalysis& point = analysis.points.front();
  for (const LineAnalysis& line : point.lines) {
    if (leaders.size() == count) break;
    leaders.push_back(absl::StrFormat(
        "  %s  slope %.2f (%.2f to %.2f) at %s", table.units[line.unit].Name(), line.slope.value,
        line.slope.low, line.slope.high, table.points[point.point].name));
  }
  return leaders;
}

LiveDisplay::LiveDisplay(int fd) : fd_(fd), is_on_(isatty(fd) == 1) {}

void LiveDisplay::Refresh(const State& state, const profile::Profile& profile) {
  const uint64_t now_ns = MonotonicNowNs();
  if (!is_on_ || now_ns < last_drawn_ns_ + kRefreshNs) return;
  last_drawn_ns_ = now_ns;
  if (state.experiments != leaders_experiments_) {
    leaders_experiments_ = state.experiments;
    leaders_ = Leaders(profile, kLeaders);
  }
  std::vector<std::string> lines = {Headline(state)};
  lines.insert(lines.end(), leaders_.begin(), leaders_.end());
  Draw(lines);
}

void LiveDisplay::Clear() {
  if (is_on_ && lines_drawn_ != 0) Draw({});
}

void LiveDisplay::Draw(const std::vector<std::string>& lines) {
  const size_t width = static_cast<size_t>(TerminalWidth(fd_)) - 1;
  std::string output = "\r";
  if (lines_drawn_ != 0) absl::StrAppendFormat(&output, "\x1b[%dA", lines_drawn_);
  absl::StrAppend(&output, "\x1b[J");  // the program may have written in between: erase to the end
  for (const std::string& line : lines) absl::StrAppend(&output, line.substr(0, width), "\n");
  lines_drawn_ = lines.size();
  (void)!write(fd_, output.data(), output.size());
}

}  // namespace coz
