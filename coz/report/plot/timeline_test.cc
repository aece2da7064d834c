#include "coz/report/plot/timeline.h"

#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

profile::Profile TwoLines(uint64_t session) {
  SyntheticOptions options;
  options.session = session;
  SyntheticProfile made(options, {{"/a.cc", 1, "A", 0.6, 0, {}}, {"/a.cc", 2, "B", 0.3, 0, {}}});
  for (int i = 0; i < 10; ++i) made.AddExperiment(0, i % 2 * 0.5);
  made.End();
  return made.profile();
}

TEST(TimelineTest, SharesAndRatesFollowTheExperiments) {
  profile::Profile profile = TwoLines(1);
  for (int i = 0; i < 5; ++i) {
    profile::Experiment* experiment = profile.mutable_experiment(i);
    for (int j = 0; j < experiment->unit_id_size(); ++j) {
      if (experiment->unit_id(j) == 2) experiment->set_unit_samples(j, 0);
    }
  }
  const ExperimentTable table = BuildExperimentTable(profile);
  const Timeline timeline = BuildTimeline(profile, table, 20, 5);
  ASSERT_EQ(timeline.units.size(), 2u);
  EXPECT_EQ(table.units[timeline.units[0].unit].line, 1u);
  EXPECT_NEAR(timeline.units[0].share[3], 0.6, 0.1);
  EXPECT_EQ(timeline.units[1].share[3], 0);
  EXPECT_NEAR(timeline.units[1].share[16], 0.3, 0.1);
  ASSERT_EQ(timeline.points.size(), 1u);
  EXPECT_NEAR(timeline.points[0].rate[10], 1000, 50);
}

TEST(TimelineTest, SessionsStandOneAfterTheOther) {
  profile::Profile profile = TwoLines(1);
  profile.MergeFrom(TwoLines(2));
  const ExperimentTable table = BuildExperimentTable(profile);
  const Timeline timeline = BuildTimeline(profile, table, 20, 5);
  ASSERT_EQ(timeline.session_starts_ns.size(), 2u);
  EXPECT_EQ(timeline.session_starts_ns[1], profile.session_end(0).run_time_ns());
  EXPECT_EQ(timeline.end_ns, 2 * profile.session_end(0).run_time_ns());
  EXPECT_GE(timeline.experiments[10].start_ns, timeline.session_starts_ns[1]);
}

TEST(TimelineTest, MomentsWithoutExperimentsAreMarked) {
  profile::Profile profile = TwoLines(1);
  profile.mutable_session_end(0)->set_run_time_ns(profile.session_end(0).run_time_ns() * 2);
  const Timeline timeline = BuildTimeline(profile, BuildExperimentTable(profile), 10, 5);
  EXPECT_LT(timeline.units[0].share[8], 0);
  EXPECT_LT(timeline.points[0].rate[8], 0);
}

TEST(TimelineTest, ImpossibleTimesDoNoHarm) {
  profile::Profile profile = TwoLines(1);
  profile.mutable_experiment(0)->set_start_ns(UINT64_MAX - 5);
  profile.mutable_experiment(1)->set_elapsed_ns(UINT64_MAX);
  const ExperimentTable table = BuildExperimentTable(profile);
  EXPECT_EQ(BuildTimeline(profile, table, 10, 5).units.size(), 2u);
  EXPECT_EQ(BuildTimeline({}, {}, 10, 5).end_ns, 0u);
}

}  // namespace
}  // namespace coz::report
