#include "coz/report/text/live_table.h"

#include "coz/report/testing/synthetic_profile.h"
#include "coz/report/wording/text_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::unique_ptr<const AnalyzedProfile> Make(int experiments) {
  report_testing::SyntheticLine fast;
  fast.line = 10;
  fast.share = 0.5;
  fast.slope = 0.6;
  report_testing::SyntheticLine idle;
  idle.line = 20;
  idle.share = 0.4;
  report_testing::SyntheticProfile synthetic({}, {fast, idle});
  synthetic.AddRandomExperiments(experiments);
  return AnalyzeWhole(synthetic.profile());
}

TEST(LiveTableTest, LeaderComesFirstWithItsInterval) {
  const auto lines = LiveTable(*Make(400), 10, 100);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_THAT(lines[0], HasSubstr(" visits, "));
  EXPECT_THAT(lines[1], HasSubstr("gain at 30 %"));
  EXPECT_THAT(lines[2], HasSubstr("work.cc:10"));
  EXPECT_THAT(lines[2], ContainsRegex("\\+1[78] % .1[78] to 1[89]. "));
  EXPECT_THAT(lines[2], HasSubstr("worth it"));
  EXPECT_THAT(RunSoFar(*Make(400)), HasSubstr("400 experiments"));
}

TEST(LiveTableTest, FitsTheScreen) {
  for (int rows : {0, 1, 2, 3}) {
    for (int columns : {1, 20, 60}) {
      const auto lines = LiveTable(*Make(100), rows, columns);
      EXPECT_LE(lines.size(), static_cast<size_t>(rows));
      for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), columns);
    }
  }
}

TEST(LiveTableTest, LinesWithTooLittleDataAreThereToo) {
  const auto lines = LiveTable(*Make(5), 10, 100);
  EXPECT_THAT(lines.back(), HasSubstr("too little data"));
}

TEST(LiveTableTest, SmallLinesHaveTheirLimit) {
  report_testing::SyntheticLine hot;
  hot.share = 0.5;
  report_testing::SyntheticLine small;
  small.line = 20;
  small.share = 0.01;
  report_testing::SyntheticProfile made({}, {hot, small});
  for (int i = 0; i < 40; ++i) made.AddExperiment(0, i % 4 * 0.25);
  const auto lines = LiveTable(*AnalyzeWhole(made.profile()), 10, 100);
  EXPECT_THAT(lines.back(), ContainsRegex("work.cc:20 +at most 0.[0-9] % +no gain"));
}

TEST(LiveTableTest, EmptyProfileSaysSo) {
  const auto lines = LiveTable(*AnalyzeWhole(profile::Profile()), 10, 100);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("no progress point was visited yet"));
}

}  // namespace
}  // namespace coz::report
