#include <algorithm>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/report.h"
#include "coz/report/testing/reports.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

using report_testing::FourLines;
using report_testing::HardlyTried;
using report_testing::Save;
using report_testing::SyntheticLine;
using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

std::string MarkdownOf(const profile::Profile& profile, int max_lines = 20) {
  ReportOptions options;
  options.path = Save(profile);
  options.format = ReportFormat::kMarkdown;
  options.text.max_lines = max_lines;
  std::ostringstream out;
  EXPECT_TRUE(RunReport(options, out).ok());
  return out.str();
}

TEST(ReportMarkdownTest, TheVerdictIsSaidOnce) {
  SyntheticOptions noisy;
  noisy.noise = 0.3;
  SyntheticProfile made(noisy, {{"/src/a.cc", 5, "A()", 0.5, 0.2, {}}});
  for (int i = 0; i < 12; ++i) made.AddExperiment(0, i % 4 * 0.3);
  const std::string text = MarkdownOf(made.profile());
  EXPECT_THAT(text, HasSubstr(" | not yet known | "));
  EXPECT_THAT(text, Not(HasSubstr(" | not yet known | not yet known")));
}

TEST(ReportMarkdownTest, LatenciesSayThatTheyAreTimes) {
  SyntheticOptions options;
  options.kind = profile::PROGRESS_POINT_KIND_LATENCY;
  options.latency_ns = 2e6;
  options.noise = 0;
  SyntheticProfile made(options, {{"/src/a.cc", 5, "A()", 0.5, 0.2, {}}});
  made.AddRandomExperiments(60);
  const std::string text = MarkdownOf(made.profile());
  EXPECT_THAT(text,
              ContainsRegex("\\*\\*requests\\*\\* \\(latency\\): [0-9]+ visits, 2 ms on average; "
                            "\\+10 % is a time that is 10 % shorter\n"));
}

TEST(ReportMarkdownTest, LinesThatWereNotTriedAreNamed) {
  const std::string text = MarkdownOf(HardlyTried());
  EXPECT_THAT(text, ContainsRegex("\nSet aside, with too little data for a figure: 2 lines: "
                                  "`inl.h:3` .[34].\\.. %., `a.cc:5` .[12].\\.. %.\n"));
  EXPECT_THAT(text, HasSubstr("\nNot tried yet: 400 lines, each with less than 0.5 % "));
}

TEST(ReportMarkdownTest, EachLineIsARowOfATable) {
  const std::string text = MarkdownOf(FourLines());
  EXPECT_THAT(text, HasSubstr("**requests** (throughput): "));
  EXPECT_THAT(text, HasSubstr("\n| line | | gain at 30 % | samples | verdict | |\n|---|---|"));
  EXPECT_THAT(text, HasSubstr("| `src/parse.cc:41` | `app::Parser::Next(std::string_view)` | "));
  EXPECT_THAT(text, HasSubstr(" | worth it | making this 30 % faster speeds `requests` up by "));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, "| ")) continue;
    EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 7) << line;
  }
  EXPECT_THAT(MarkdownOf(FourLines(), 1), HasSubstr("\nand "));
}

TEST(ReportMarkdownTest, NamesDoNotBecomeMarkup) {
  SyntheticLine line;
  line.share = 0.5;
  line.slope = 0.4;
  line.function = "a|b`c`<img>";
  SyntheticOptions options;
  options.point = "*<b>|";
  SyntheticProfile made(options, {line});
  made.AddRandomExperiments(100);
  made.End();
  const std::string text = MarkdownOf(made.profile());
  EXPECT_THAT(text, HasSubstr("`a\\|b'c'<img>`")) << text;
  EXPECT_THAT(text, HasSubstr("**\\*&lt;b>\\|**"));
}

TEST(ReportMarkdownTest, WithoutFiguresItSaysWhatToDo) {
  profile::Profile bare = FourLines();
  bare.clear_experiment();
  bare.clear_progress_point();
  EXPECT_THAT(MarkdownOf(bare), HasSubstr("Nothing was measured: "));
}

}  // namespace
}  // namespace coz::report
