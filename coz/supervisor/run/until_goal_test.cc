#include "coz/supervisor/run/until_goal.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using report_testing::SyntheticProfile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_THAT(goal.Text(), HasSubstr("1 line without a figure yet, about"));

  // With experiments confined to A, B does not matter.
  UntilGoal fixed(0.2, 0.5, {0});
  EXPECT_TRUE(fixed.Update(made.profile(), 1));
  EXPECT_TRUE(fixed.state().reached);
}

TEST(UntilGoalTest, VerdictsAreSoughtFirstWhereLeastIsLacking) {
  report_testing::SyntheticOptions options;
  options.noise = 0.02;
  SyntheticProfile made(options, {{"/src/a.cc", 1, "A()", 0.5, 0.5, {}},
                                  {"/src/b.cc", 2, "B()", 0.2, 0.3, {}},
                                  {"/src/c.cc", 3, "C()", 0.1, 0.3, {}},
                                  {"/src/d.cc", 4, "D()", 0.05, 0.3, {}},
                                  {"/src/e.cc", 5, "E()", 0.04, 0.3, {}}});
  for (int i = 0; i < 40; ++i) made.AddExperiment(0, i % 4 == 0 ? 0 : 0.05 * (i % 20 + 1));
  made.AddExperiment(1, 0.7);
  made.AddExperiment(1, 0.3);
  UntilGoal goal(VerdictsGoal(0.5), FocusOrder::kLeastNeedFirst, {});
  EXPECT_TRUE(goal.Update(made.profile(), 1));
  std::vector<experiment::UnitId> units;
  for (const auto& [unit, weight] : goal.focus()) {
    units.push_back(unit);
    EXPECT_EQ(weight, 1) << "or the one that lacks least is done last";
  }
  // A has its verdict. B has had two experiments. Of the others C and D have most samples.
  EXPECT_THAT(units, ElementsAre(1, 2, 3));
}

// Three experiments may lie on a line where the curve bends between them.
TEST(UntilGoalTest, AVerdictOfFewExperimentsIsNotEnough) {
  report_testing::SyntheticOptions options;
  options.noise = 0.001;
  SyntheticProfile made(options, {{"/src/a.cc", 1, "A()", 0.5, 0.5, {}}});
  for (int i = 0; i < 8; ++i) made.AddExperiment(0, 0);
  for (const double speedup : {0.8, 0.05, 0.6, 0.4}) made.AddExperiment(0, speedup);
  UntilGoal few(VerdictsGoal(0.5), FocusOrder::kLeastNeedFirst, {});
  few.Update(made.profile(), 1);
  EXPECT_EQ(few.focus().size(), 1u);
  made.AddExperiment(0, 0.2);
  UntilGoal enough(VerdictsGoal(0.5), FocusOrder::kLeastNeedFirst, {});
  enough.Update(made.profile(), 1);
  EXPECT_TRUE(enough.focus().empty());
}

TEST(UntilGoalTest, AGoalThatIsNarrowerThanWhatStaysIsReachedAndSaysSo) {
  report_testing::SyntheticOptions options;
  options.noise = 0.001;
  SyntheticProfile made(options, {{"/src/a.cc", 1, "A()", 0.9, 0.5, {}}});
  for (int i = 0; i < 200; ++i) made.AddExperiment(0, i % 4 == 0 ? 0 : 0.05 * (i % 20 + 1));
  UntilGoal narrow(0.02, 0.5, {});
  narrow.Update(made.profile(), 1);
  EXPECT_TRUE(narrow.state().reached);
  EXPECT_THAT(narrow.WhatStays(), HasSubstr(", and reports show up to 2.8, as the rest stays"));
  UntilGoal wide(0.1, 0.5, {});
  wide.Update(made.profile(), 1);
  EXPECT_TRUE(wide.state().reached);
  EXPECT_EQ(wide.WhatStays(), "");
}

TEST(UntilGoalTest, NoFigureIsNotTakenForNoneThatLacksOne) {
  SyntheticProfile made({}, {{"/src/a.cc", 1, "A()", 0.01, 0.5, {}}});
  made.AddExperiment(0, 0.5);
  UntilGoal goal(0.1, 0.5, {});
  goal.Update(made.profile(), 1);
  EXPECT_THAT(goal.Text(), HasSubstr("no line has a figure yet"));
}

TEST(UntilGoalTest, EstimatesInRunsWhereThereAreSeveral) {
  report_testing::SyntheticOptions options;
  options.noise = 0.1;
  SyntheticProfile made(options, {{"/src/a.cc", 1, "A()", 0.5, 0.5, {}}});
  for (int i = 0; i < 200; ++i) made.AddExperiment(0, i % 4 == 0 ? 0 : 0.05 * (i % 20 + 1));
  profile::Profile profile = made.profile();
  UntilGoal one_run(0.005, 0.5, {});
  one_run.Update(profile, 1);
  EXPECT_THAT(one_run.Text(), HasSubstr(" more"));
  EXPECT_THAT(one_run.Text(), Not(HasSubstr("runs")));
  profile.add_session_end()->set_run_time_ns(one_run.state().remaining_ns / 3 + 1);
  UntilGoal several(0.005, 0.5, {});
  several.Update(profile, 1);
  const uint64_t run_ns = profile.session_end().rbegin()->run_time_ns();
  const uint64_t runs = (several.state().remaining_ns + run_ns - 1) / run_ns;
  EXPECT_GT(runs, 1u);
  EXPECT_THAT(several.Text(), HasSubstr(absl::StrCat(", about ", runs, " runs more")));
}

TEST(UntilGoalTest, UnitsThatAnotherRunHasNumberedAreNotInFocus) {
  report_testing::SyntheticOptions options;
  options.noise = 0.1;
  SyntheticProfile made(options, {{"/src/a.cc", 1, "A()", 0.5, 0.5, {}}});
  for (int i = 0; i < 40; ++i) made.AddExperiment(0, i % 4 == 0 ? 0 : 0.05 * (i % 20 + 1));
  UntilGoal goal(0.005, 0.5, {}, [](experiment::UnitId, const report::UnitRow&) { return false; });
  EXPECT_TRUE(goal.Update(made.profile(), 1));
  EXPECT_FALSE(goal.state().reached);
  EXPECT_EQ(goal.state().open.size(), 1u);
  EXPECT_TRUE(goal.focus().empty());
}

}  // namespace
}  // namespace coz::supervisor
