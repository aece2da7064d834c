#include "tools/supervisor/live_display.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/report/analysis.h"
#include "coz/report/analyzed_profile.h"
#include "coz/report/experiment_table.h"
#include "coz/report/live_table.h"
#include "coz/report/text_layout.h"

namespace coz {
namespace {

constexpr uint64_t kRefreshNs = 500 * kNsPerMs;
constexpr size_t kLeaders = 3;
constexpr int kSmallBlock = 1 + static_cast<int>(kLeaders);
constexpr int kLargestBlock = 40;
// An analysis takes at most this share of the time: experiments wait for it.
constexpr uint64_t kShareOfAnalysis = 20;
constexpr int kLeastRows = 12;

std::string Headline(const LiveDisplay::State& state) {
  std::string line = absl::StrFormat("coz: %s%s%.0f s", state.run, state.run.empty() ? "" : ", ",
                                     static_cast<double>(state.elapsed_ns) / 1e9);
  if (state.duration_ns != 0) {
    absl::StrAppendFormat(&line, " of %.0f", static_cast<double>(state.duration_ns) / 1e9);
  }
  absl::StrAppendFormat(&line, ", %d experiments", state.experiments);
  if (!state.goal.empty()) absl::StrAppend(&line, ", ", state.goal);
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

LiveDisplay::LiveDisplay(int fd, bool is_large)
    : fd_(fd), is_on_(isatty(fd) == 1), is_large_(is_large) {}

void LiveDisplay::Refresh(const State& state, const profile::Profile& profile) {
  const uint64_t now_ns = MonotonicNowNs();
  if (!is_on_ || now_ns < last_drawn_ns_ + kRefreshNs) return;
  last_drawn_ns_ = now_ns;
  Reserve();
  if (state.experiments != leaders_experiments_ && now_ns >= next_analysis_ns_) {
    leaders_experiments_ = state.experiments;
    UpdateLeaders(profile);
    const uint64_t end_ns = MonotonicNowNs();
    next_analysis_ns_ = end_ns + (end_ns - now_ns) * kShareOfAnalysis;
  }
  std::vector<std::string> lines = {Headline(state)};
  lines.insert(lines.end(), leaders_.begin(), leaders_.end());
  if (rows_ != 0) Draw(lines);
}

void LiveDisplay::UpdateLeaders(const profile::Profile& profile) {
  if (!is_large_) {
    leaders_ = Leaders(profile, kLeaders);
    return;
  }
  AnalysisOptions options;
  options.min_speedups = kLiveMinSpeedups;
  leaders_ = LiveTable(*AnalyzeWhole(profile, options), block_lines_ - 1, columns_);
}

void LiveDisplay::Reserve() {
  winsize size = {};
  if (ioctl(fd_, TIOCGWINSZ, &size) != 0) return;
  if (size.ws_row == rows_ && size.ws_col == columns_) return;
  Clear();
  if (size.ws_row < kLeastRows) return;
  rows_ = size.ws_row;
  columns_ = size.ws_col;
  block_lines_ = is_large_ ? std::min(rows_ * 2 / 3, kLargestBlock) : kSmallBlock;
  // Scroll the block's lines free and step back over them; setting the region moves the cursor, hence save and restore.
  Write(absl::StrFormat("%s\033[%dA\0337\033[1;%dr\0338", std::string(block_lines_, '\n'),
                        block_lines_, rows_ - block_lines_));
}

void LiveDisplay::Clear() {
  if (rows_ == 0) return;
  Write(absl::StrFormat("\0337\033[r\033[%d;1H\033[J\0338", rows_ - block_lines_ + 1));
  rows_ = 0;
}

void LiveDisplay::Draw(const std::vector<std::string>& lines) {
  std::string output = "\0337";
  for (int i = 0; i < block_lines_; ++i) {
    const std::string text = static_cast<size_t>(i) < lines.size() ? lines[i] : "";
    absl::StrAppendFormat(&output, "\033[%d;1H\033[2K%s", rows_ - block_lines_ + 1 + i,
                          ElideEnd(text, columns_));
  }
  Write(absl::StrCat(output, "\0338"));
}

// In one piece, so that the program's output does not come between saving and restoring the cursor.
void LiveDisplay::Write(const std::string& text) { (void)!write(fd_, text.data(), text.size()); }

}  // namespace coz
