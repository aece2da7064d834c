// The block on a pseudo terminal, whose screen is worked out from what arrives there.
#include "coz/supervisor/run/live_display.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "coz/base/unique_fd.h"
#include "coz/report/testing/synthetic_profile.h"

namespace coz::supervisor {
namespace {

// As much of a terminal as the display uses: bytes, not characters, in a row.
class Screen {
 public:
  explicit Screen(int rows) : rows_(rows), lines_(static_cast<size_t>(rows)), region_(rows) {}

  void Take(const std::string& bytes) {
    for (size_t i = 0; i < bytes.size();) {
      if (bytes[i] == '\033') {
        i = Escape(bytes, i + 1);
      } else if (bytes[i] == '\n') {
        Down();
        ++i;
      } else if (bytes[i] == '\r') {
        column_ = 0;
        ++i;
      } else {
        std::string& line = Row(row_);
        line.resize(std::max(line.size(), column_ + 1), ' ');
        line[column_++] = bytes[i++];
      }
    }
  }

  std::string& Row(int row) { return lines_[static_cast<size_t>(row)]; }
  const std::vector<std::string>& lines() const { return lines_; }
  int row() const { return row_; }
  int region() const { return region_; }

 private:
  void Down() {
    column_ = 0;
    if (row_ + 1 != region_) {
      row_ = std::min(row_ + 1, rows_ - 1);
      return;
    }
    lines_.erase(lines_.begin());
    lines_.insert(lines_.begin() + region_ - 1, "");
  }

  // Returns where the text goes on.
  size_t Escape(const std::string& bytes, size_t i) {
    if (bytes[i] == '7') saved_ = {row_, column_};
    if (bytes[i] == '8') std::tie(row_, column_) = saved_;
    if (bytes[i] != '[') return i + 1;
    std::vector<int> numbers = {0};
    for (++i; bytes[i] == ';' || (bytes[i] >= '0' && bytes[i] <= '9'); ++i) {
      if (bytes[i] == ';') {
        numbers.push_back(0);
      } else {
        numbers.back() = numbers.back() * 10 + (bytes[i] - '0');
      }
    }
    switch (bytes[i]) {
      case 'A':
        row_ = std::max(0, row_ - numbers[0]);
        break;
      case 'H':
        row_ = numbers[0] - 1;
        column_ = 0;
        break;
      case 'J':
        for (int row = row_; row < rows_; ++row) Row(row).clear();
        break;
      case 'K':
        Row(row_).clear();
        break;
      case 'r':
        region_ = numbers.size() == 2 ? numbers[1] : rows_;
        row_ = 0;
        break;
      default:
        ADD_FAILURE() << "unknown sequence " << bytes[i];
    }
    return i + 1;
  }

  int rows_;
  std::vector<std::string> lines_;
  int row_ = 0;
  size_t column_ = 0;
  std::pair<int, size_t> saved_;
  int region_;
};

class LiveDisplayTest : public ::testing::Test {
 protected:
  static constexpr int kRows = 24;

  LiveDisplayTest() {
    setenv("TERM", "xterm", 1);
    int master = -1;
    int terminal = -1;
    const winsize size = {kRows, 60, 0, 0};
    if (openpty(&master, &terminal, nullptr, nullptr, &size) != 0) abort();
    master_.Reset(master);
    terminal_.Reset(terminal);
    fcntl(master, F_SETFL, O_NONBLOCK);
  }

  void Read() {
    char buffer[4096];
    for (ssize_t n = 0; (n = read(master_.get(), buffer, sizeof(buffer))) > 0;) {
      screen_.Take(std::string(buffer, static_cast<size_t>(n)));
    }
  }

  static profile::Profile Made(size_t lines) {
    std::vector<report_testing::SyntheticLine> made(lines);
    for (size_t i = 0; i < lines; ++i) {
      made[i].file = "/home/somebody/with/a/long/path/to/work.cc";
      made[i].line = static_cast<uint32_t>(i + 1);
      made[i].share = 0.9 / static_cast<double>(lines);
    }
    report_testing::SyntheticProfile synthetic({}, made);
    synthetic.AddRandomExperiments(400);
    return synthetic.profile();
  }

  UniqueFd master_;
  UniqueFd terminal_;
  Screen screen_{kRows};
};

TEST_F(LiveDisplayTest, LeadersAreShownWithoutFoldersBelowWhatTheProgramPrints) {
  LiveDisplay display(terminal_.get());
  ASSERT_EQ(write(terminal_.get(), "first\n", 6), 6);
  LiveDisplay::State state;
  state.elapsed_ns = 12'000'000'000;
  state.experiments = 400;
  display.Refresh(state, Made(9));
  for (int i = 0; i < 30; ++i) ASSERT_EQ(write(terminal_.get(), "more\n", 5), 5);
  Read();
  EXPECT_EQ(screen_.region(), kRows - 6);
  EXPECT_EQ(screen_.lines()[kRows - 6], "coz: 12 s, 400 experiments");
  EXPECT_EQ(screen_.lines()[kRows - 4].substr(0, 7), "#  line");
  EXPECT_EQ(screen_.lines()[kRows - 3].substr(0, 10), "1  work.cc");
  EXPECT_NE(screen_.lines()[kRows - 1], "");
  EXPECT_EQ(screen_.lines()[0], "more");
  EXPECT_EQ(screen_.row(), kRows - 7);
}

TEST_F(LiveDisplayTest, LargeOneIsAsLargeAsItsTable) {
  for (const auto& [lines, block] : {std::pair<size_t, int>{1, 6}, {5, 8}, {40, kRows * 2 / 3}}) {
    screen_ = Screen(kRows);
    LiveDisplay display(terminal_.get(), /*is_large=*/true);
    display.Refresh({}, Made(lines));
    Read();
    EXPECT_EQ(screen_.region(), kRows - block) << lines;
  }
}

TEST_F(LiveDisplayTest, LeavesTheTerminalAsItWas) {
  {
    LiveDisplay display(terminal_.get());
    display.Refresh({}, Made(3));
    ASSERT_EQ(write(terminal_.get(), "printed\n", 8), 8);
  }
  Read();
  EXPECT_EQ(screen_.region(), kRows);
  EXPECT_EQ(screen_.lines()[0], "printed");
  EXPECT_EQ(screen_.row(), 1);
  EXPECT_TRUE(std::all_of(screen_.lines().begin() + 1, screen_.lines().end(),
                          [](const std::string& line) { return line.empty(); }));
}

TEST_F(LiveDisplayTest, SmallTerminalsAreLeftAlone) {
  const winsize size = {8, 60, 0, 0};
  ioctl(terminal_.get(), TIOCSWINSZ, &size);
  LiveDisplay display(terminal_.get());
  display.Refresh({}, Made(3));
  Read();
  EXPECT_EQ(screen_.region(), kRows);
  EXPECT_TRUE(screen_.lines()[0].empty());
}

}  // namespace
}  // namespace coz::supervisor
