#include "tools/supervisor/until_goal.h"

#include <cstdint>

#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using report_testing::SyntheticProfile;
using ::testing::HasSubstr;

TEST(UntilGoalTest, WidthIsInPercentagePointsWithOrWithoutSign) {
  EXPECT_DOUBLE_EQ(*ParseWidth("5"), 0.05);
  EXPECT_DOUBLE_EQ(*ParseWidth("2.5%"), 0.025);
  for (const char* bad : {"", "x", "0", "-5", "5 %", "5%%", "201", "nan"}) {
    const auto width = ParseWidth(bad);
    EXPECT_FALSE(width.ok()) << bad;
    EXPECT_THAT(width.status().message(), HasSubstr("write --until=10")) << bad;
  }
}

TEST(UntilGoalTest, FocusIsOnWhatIsStillWide) {
  report_testing::SyntheticOptions options;
  options.noise = 0.1;
  SyntheticProfile made(
      options, {{"/src/a.cc", 1, "A()", 0.5, 0.5, {}}, {"/src/b.cc", 2, "B()", 0.3, 0.3, {}}});
  for (int i = 0; i < 200; ++i) made.AddExperiment(0, i % 4 == 0 ? 0 : 0.05 * (i % 20 + 1));
  UntilGoal goal(0.2, 0.5, {});
  EXPECT_TRUE(goal.Update(made.profile(), 1));
  EXPECT_FALSE(goal.Update(made.profile(), 2));  // nothing new
  EXPECT_FALSE(goal.state().reached);
  ASSERT_EQ(goal.focus().size(), 1u);
  EXPECT_EQ(goal.focus()[0].first, 1u);  // B, which has samples and no experiment
  EXPECT_THAT(goal.Text(), HasSubstr("1 lines without a figure yet, about"));

  // With experiments confined to A, B does not matter.
  UntilGoal fixed(0.2, 0.5, {0});
  EXPECT_TRUE(fixed.Update(made.profile(), 1));
  EXPECT_TRUE(fixed.state().reached);
}

}  // namespace
}  // namespace coz
