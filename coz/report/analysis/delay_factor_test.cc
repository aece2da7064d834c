#include "coz/report/analysis/delay_factor.h"

#include <cmath>
#include <cstddef>
#include <memory>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

// The slope of its one line is what the program would really gain.
profile::Profile ProfileOf(const SyntheticOptions& options, double slope, int controls) {
  SyntheticProfile made(options, {{"/src/app/a.cc", 5, "A()", 0.5, slope, {}}});
  for (int i = 0; i < controls; ++i) {
    made.AddRandomExperiments(8);
    made.AddControl();
  }
  made.End();
  return made.profile();
}

const Estimate& SlopeIn(const AnalyzedProfile& whole) {
  return whole.analysis.points.at(0).lines.at(0).slope;
}

bool Holds(const Estimate& estimate, double truth) {
  return estimate.low <= truth && truth <= estimate.high;
}

TEST(DelayFactorTest, DelaysThatTakeMoreThanTheirTimeAreTakenOffWhole) {
  SyntheticOptions options;
  options.delay_factor = 1.2;
  const auto whole = AnalyzeWhole(ProfileOf(options, 0.5, 12));
  const DelayFactor* factor = DelayFactorOf(whole->table, 0);
  ASSERT_NE(factor, nullptr);
  EXPECT_EQ(factor->controls, 12);
  EXPECT_TRUE(Holds(factor->measured, 1.2)) << factor->measured.value;
  EXPECT_NEAR(factor->used, 1.2, 0.05);
  EXPECT_FALSE(IsPaced(*factor));
  EXPECT_NEAR(SlopeIn(*whole).value, 0.5, 0.04);
  EXPECT_TRUE(Holds(SlopeIn(*whole), 0.5));

  // Without controls that would be missing.
  profile::Profile without = ProfileOf(options, 0.5, 12);
  without.clear_control();
  EXPECT_LT(SlopeIn(*AnalyzeWhole(without)).value, 0.44);
}

TEST(DelayFactorTest, NothingSpeedsUpWhatIsPacedFromOutside) {
  SyntheticOptions options;
  options.delay_factor = 0;
  const auto whole = AnalyzeWhole(ProfileOf(options, 0, 12));
  const DelayFactor* factor = DelayFactorOf(whole->table, 0);
  ASSERT_NE(factor, nullptr);
  EXPECT_TRUE(IsPaced(*factor));
  EXPECT_NEAR(SlopeIn(*whole).value, 0, 0.02);
  EXPECT_EQ(whole->analysis.points.at(0).lines.at(0).verdict, Verdict::kNoEffect);

  profile::Profile without = ProfileOf(options, 0, 12);
  without.clear_control();
  EXPECT_EQ(AnalyzeWhole(without)->analysis.points.at(0).lines.at(0).verdict, Verdict::kFaster);
}

TEST(DelayFactorTest, HalfATraceIsInTheInterval) {
  SyntheticOptions options;
  options.delay_factor = 0.5;
  const auto whole = AnalyzeWhole(ProfileOf(options, 0.25, 12));
  const LineAnalysis& line = whole->analysis.points.at(0).lines.at(0);
  // All of the trace, and none of it.
  EXPECT_TRUE(Holds(line.slope, 0.1)) << line.slope.low;
  EXPECT_TRUE(Holds(line.slope, 0.4)) << line.slope.high;
}

TEST(DelayFactorTest, AFactorNear1ChangesHardlyAnything) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SyntheticOptions options;
    options.seed = seed;
    const auto whole = AnalyzeWhole(ProfileOf(options, 0.5, 6));
    const DelayFactor* factor = DelayFactorOf(whole->table, 0);
    ASSERT_NE(factor, nullptr);
    EXPECT_LE(std::fabs(factor->used - 1), std::fabs(factor->measured.value - 1));
    EXPECT_NEAR(factor->used, 1, 0.05) << seed;
    EXPECT_TRUE(Holds(SlopeIn(*whole), 0.5)) << seed;
  }
}

TEST(DelayFactorTest, TooFewControlsTellNothing) {
  SyntheticOptions options;
  options.delay_factor = 1.2;
  const auto whole = AnalyzeWhole(ProfileOf(options, 0.5, kLeastControls - 1));
  EXPECT_TRUE(whole->table.delay_factors.empty());
  EXPECT_EQ(whole->table.controls.size(), static_cast<size_t>(kLeastControls - 1));
}

// A visit more or less would make all the difference.
TEST(DelayFactorTest, ControlsOfFewVisitsDoNotCount) {
  SyntheticOptions options;
  options.ns_per_visit = 100e6;  // five in an experiment, three in a control
  EXPECT_TRUE(AnalyzeWhole(ProfileOf(options, 0.5, 8))->table.delay_factors.empty());
}

TEST(DelayFactorTest, TaintedControlsDoNotCount) {
  SyntheticOptions options;
  profile::Profile profile = ProfileOf(options, 0.5, kLeastControls);
  profile.mutable_control(0)->mutable_validity()->add_taint()->set_reason(
      profile::Taint::SUSPENDED);
  EXPECT_TRUE(AnalyzeWhole(profile)->table.delay_factors.empty());
}

// Its time holds the pauses in it, whatever sets the pace.
TEST(DelayFactorTest, LatenciesHaveNoFactor) {
  SyntheticOptions options;
  options.kind = profile::PROGRESS_POINT_KIND_LATENCY;
  EXPECT_TRUE(AnalyzeWhole(ProfileOf(options, 0.5, 8))->table.delay_factors.empty());
}

TEST(DelayFactorTest, AControlThatIsThereTwiceCountsOnce) {
  profile::Profile profile = ProfileOf(SyntheticOptions(), 0.5, 5);
  *profile.add_control() = profile.control(0);
  const auto whole = AnalyzeWhole(profile);
  EXPECT_EQ(whole->table.controls.size(), 5u);
  EXPECT_EQ(whole->table.duplicates, 1u);
}

TEST(DelayFactorTest, MoreDelayThanTimeLeavesNextToNothing) {
  EXPECT_DOUBLE_EQ(LeftByFactor(100, 60, 1), 60);
  EXPECT_DOUBLE_EQ(LeftByFactor(100, 60, 0), 100);
  EXPECT_DOUBLE_EQ(LeftByFactor(100, 60, 1.5), 40);
  EXPECT_DOUBLE_EQ(LeftByFactor(100, 10, 1.5), 1);
}

}  // namespace
}  // namespace coz::report
