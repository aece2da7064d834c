#include "coz/report/analysis/sampling_slowdown.h"

#include <cmath>

#include "coz/report/analysis/analysis.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using report_testing::SyntheticLine;
using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

SyntheticLine Line(double share, double slope) {
  SyntheticLine line;
  line.share = share;
  line.slope = slope;
  return line;
}

// One bare interval for four experiments, as the scheduler makes them.
SyntheticProfile MakeProfile(const SyntheticOptions& options, int stretches) {
  SyntheticProfile profile(options, {Line(0.6, 0.5)});
  for (int i = 0; i < stretches; ++i) {
    profile.AddRandomExperiments(4);
    profile.AddBareInterval();
  }
  profile.End();
  return profile;
}

Analysis AnalyzeProfile(SyntheticProfile& profile) {
  return Analyze(profile.profile(), BuildExperimentTable(profile.profile()));
}

std::optional<SamplingSlowdown> Slowdown(SyntheticProfile& profile) {
  return AnalyzeProfile(profile).points.at(0).sampling_slowdown;
}

TEST(SamplingSlowdownTest, FindsWhatSamplingTakes) {
  SyntheticOptions options;
  options.noise = 0.002;
  options.bare_share = 0.1;
  SyntheticProfile profile = MakeProfile(options, 40);
  const std::optional<SamplingSlowdown> slowdown = Slowdown(profile);
  ASSERT_TRUE(slowdown.has_value());
  EXPECT_EQ(slowdown->stretches, 40);
  EXPECT_NEAR(slowdown->share.value, 0.1, 0.005);
  EXPECT_LT(slowdown->share.high - slowdown->share.low, 0.01);
}

TEST(SamplingSlowdownTest, IsNeverMoreThanAllOfTheTime) {
  SyntheticOptions options;
  options.noise = 0.5;
  options.bare_share = 0.95;
  SyntheticProfile profile = MakeProfile(options, 10);
  const std::optional<SamplingSlowdown> slowdown = Slowdown(profile);
  ASSERT_TRUE(slowdown.has_value());
  EXPECT_GT(slowdown->share.value, 0.8);
  EXPECT_EQ(slowdown->share.high, 1);
}

TEST(SamplingSlowdownTest, LeastIsTheLowerBoundInOneSession) {
  SyntheticOptions options;
  options.noise = 0.002;
  options.bare_share = 0.1;
  SyntheticProfile profile = MakeProfile(options, 40);
  const uint64_t session = profile.profile().session(0).id();
  EXPECT_DOUBLE_EQ(LeastSlowdownBySampling(profile.profile(), session),
                   Slowdown(profile)->share.low);
  EXPECT_EQ(LeastSlowdownBySampling(profile.profile(), session + 1), 0);
}

// The slope with bare intervals, by that of the same experiments alone.
double RatioOfSlopes(double bare_share) {
  SyntheticOptions options;
  options.noise = 0.002;
  options.bare_share = bare_share;
  SyntheticProfile with = MakeProfile(options, 10);
  profile::Profile without = with.profile();
  without.clear_bare_interval();
  const Analysis analysis = AnalyzeProfile(with);
  const Analysis plain = Analyze(without, BuildExperimentTable(without));
  EXPECT_TRUE(analysis.points.at(0).sampling_slowdown.has_value());
  EXPECT_FALSE(plain.points.at(0).sampling_slowdown.has_value());
  EXPECT_EQ(analysis.experiments, plain.experiments);
  return analysis.points.at(0).lines.at(0).slope.value / plain.points.at(0).lines.at(0).slope.value;
}

TEST(SamplingSlowdownTest, ChangesNoPredictionWhereItIsSmall) { EXPECT_EQ(RatioOfSlopes(0.01), 1); }

TEST(SamplingSlowdownTest, RaisesEffectsToTheMiddleOfWhatTheyMayBe) {
  EXPECT_NEAR(RatioOfSlopes(0.1), 1 + 0.1 / 0.9 / 2, 0.01);
}

TEST(SamplingSlowdownTest, IsOfLatencyToo) {
  SyntheticOptions options;
  options.kind = profile::PROGRESS_POINT_KIND_LATENCY;
  options.noise = 0.002;
  options.bare_share = 0.06;
  SyntheticProfile profile = MakeProfile(options, 20);
  const std::optional<SamplingSlowdown> slowdown = Slowdown(profile);
  ASSERT_TRUE(slowdown.has_value());
  EXPECT_NEAR(slowdown->share.value, 0.06, 0.005);
}

TEST(SamplingSlowdownTest, NeedsFourStretchesThatAreGoodAndVisited) {
  SyntheticOptions options;
  SyntheticProfile few = MakeProfile(options, 3);
  EXPECT_FALSE(Slowdown(few).has_value());

  SyntheticProfile tainted = MakeProfile(options, 6);
  for (int i = 0; i < 3; ++i) {
    tainted.profile().mutable_bare_interval(i)->add_taint()->set_reason(profile::Taint::SUSPENDED);
  }
  EXPECT_FALSE(Slowdown(tainted).has_value());

  SyntheticProfile unvisited = MakeProfile(options, 6);
  for (int i = 0; i < 3; ++i) {
    unvisited.profile().mutable_bare_interval(i)->mutable_point(0)->set_visits(4);
  }
  EXPECT_FALSE(Slowdown(unvisited).has_value());
}

// A program that slows down by half in the middle of the run has baselines and bare intervals on
// both sides.
TEST(SamplingSlowdownTest, DriftIsNoSlowdown) {
  SyntheticOptions options;
  options.noise = 0.002;
  options.bare_share = 0.04;
  options.drift = [](double seconds) { return 1 + seconds / 100; };
  SyntheticProfile profile = MakeProfile(options, 40);
  const std::optional<SamplingSlowdown> slowdown = Slowdown(profile);
  ASSERT_TRUE(slowdown.has_value());
  EXPECT_NEAR(slowdown->share.value, 0.04, 0.01);
}

// The intervals hold the truth as often as they say.
TEST(SamplingSlowdownTest, CoverageOfIntervals) {
  int holds = 0;
  int all = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SyntheticOptions options;
    options.seed = seed;
    options.noise = 0.02;
    options.bare_share = 0.05;
    SyntheticProfile profile = MakeProfile(options, 25);
    const std::optional<SamplingSlowdown> slowdown = Slowdown(profile);
    ASSERT_TRUE(slowdown.has_value());
    ++all;
    holds += slowdown->share.low <= 0.05 && 0.05 <= slowdown->share.high ? 1 : 0;
  }
  const double coverage = static_cast<double>(holds) / all;
  RecordProperty("coverage", std::to_string(coverage));
  EXPECT_GT(coverage, 0.92);
  EXPECT_LT(coverage, 0.98);
}

// A merge with a copy of itself adds nothing.
TEST(SamplingSlowdownTest, CopiesOfAStretchCountOnce) {
  SyntheticOptions options;
  SyntheticProfile profile = MakeProfile(options, 8);
  profile::Profile doubled = profile.profile();
  for (const profile::BareInterval& bare : profile.profile().bare_interval()) {
    *doubled.add_bare_interval() = bare;
  }
  const ExperimentTable table = BuildExperimentTable(doubled);
  EXPECT_EQ(table.bare.size(), 8u);
  EXPECT_EQ(table.duplicates, 8u);
}

}  // namespace
}  // namespace coz::report
