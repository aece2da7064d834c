#include "coz/supervisor/run/live_display.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/base/terminal.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/text/live_table.h"
#include "coz/report/wording/text_layout.h"

namespace coz::supervisor {
namespace {

constexpr uint64_t kRefreshNs = 500 * kNsPerMs;
// Progress, the point, the column names, and the leaders.
constexpr int kSmallBlock = 6;
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
  absl::StrAppendFormat(&line, ", %d experiment%s", state.experiments,
                        state.experiments == 1 ? "" : "s");
  if (!state.goal.empty()) absl::StrAppend(&line, ", ", state.goal);
  if (state.waiting_for_progress) {
    absl::StrAppend(&line, ", waiting for a progress point to be visited");
  } else if (!state.current.empty()) {
    absl::StrAppend(&line, ", now ", state.current);
  }
  return line;
}

}  // namespace

LiveDisplay::LiveDisplay(int fd, bool is_large)
    : fd_(fd), is_on_(CanDrawOn(fd)), is_large_(is_large) {}

void LiveDisplay::Refresh(const State& state, const profile::Profile& profile) {
  const uint64_t now_ns = MonotonicNowNs();
  winsize size = {};
  if (!is_on_ || now_ns < last_drawn_ns_ + kRefreshNs || ioctl(fd_, TIOCGWINSZ, &size) != 0) return;
  last_drawn_ns_ = now_ns;
  const bool same_size = terminal_rows_ == size.ws_row && columns_ == size.ws_col;
  terminal_rows_ = size.ws_row;
  columns_ = size.ws_col;
  if (!same_size) Clear();
  if (MostLines() == 0) return;
  if (state.experiments != leaders_experiments_ && now_ns >= next_analysis_ns_) {
    leaders_experiments_ = state.experiments;
    UpdateLeaders(profile);
    const uint64_t end_ns = MonotonicNowNs();
    next_analysis_ns_ = end_ns + (end_ns - now_ns) * kShareOfAnalysis;
  }
  std::vector<std::string> lines = {Headline(state)};
  lines.insert(lines.end(), leaders_.begin(), leaders_.end());
  Reserve(std::clamp(static_cast<int>(lines.size()), kSmallBlock, MostLines()));
  Draw(lines);
}

int LiveDisplay::MostLines() const {
  if (terminal_rows_ < kLeastRows) return 0;
  return is_large_ ? std::min(terminal_rows_ * 2 / 3, kLargestBlock) : kSmallBlock;
}

void LiveDisplay::UpdateLeaders(const profile::Profile& profile) {
  leaders_ = report::LiveTable(*report::AnalyzeWhole(profile), MostLines() - 1, columns_);
}

void LiveDisplay::Reserve(int lines) {
  if (rows_ != 0 && lines <= block_lines_) return;
  Clear();
  rows_ = terminal_rows_;
  block_lines_ = lines;
  // Scroll the block's lines free and step back over them; setting the region moves the cursor,
  // hence save and restore.
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
                          report::ElideEnd(text, columns_));
  }
  Write(absl::StrCat(output, "\0338"));
}

// In one piece, so that the program's output does not come between saving and restoring the cursor.
void LiveDisplay::Write(const std::string& text) { (void)!write(fd_, text.data(), text.size()); }

}  // namespace coz::supervisor
