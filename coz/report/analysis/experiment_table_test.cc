#include "coz/report/analysis/experiment_table.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "coz/report/format/profile.pb.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

constexpr uint64_t kSession = 7;

// A profile with one unit, one baseline, and the time after it.
profile::Profile SmallProfile() {
  profile::Profile profile;
  profile.add_session()->set_id(kSession);
  profile::Unit* unit = profile.add_unit();
  unit->set_session(kSession);
  unit->set_id(1);
  unit->set_kind(profile::UNIT_KIND_LINE);
  unit->set_file("/src/a.cc");
  unit->set_line(1);
  profile::Experiment* experiment = profile.add_experiment();
  experiment->set_session(kSession);
  experiment->set_selected_unit(1);
  experiment->set_elapsed_ns(500'000'000);
  experiment->set_effective_duration_ns(500'000'000);
  experiment->set_total_samples(100);
  experiment->add_unit_id(1);
  experiment->add_unit_samples(60);
  experiment->mutable_validity()->set_unmapped_samples(10);
  profile::SampleCounts* counts = profile.add_sample_counts();
  counts->set_session(kSession);
  counts->add_unit_id(1);
  counts->add_unit_samples(5);
  counts->set_out_of_scope_samples(3);
  counts->set_unmapped_samples(2);
  return profile;
}

TEST(ExperimentTableTest, EachSampleIsInAUnitOrOutOfScopeOrUnmapped) {
  const ExperimentTable table = BuildExperimentTable(SmallProfile());
  EXPECT_EQ(table.samples, 110u);
  EXPECT_EQ(table.out_of_scope_samples, 30u + 3u);
  EXPECT_EQ(table.unmapped_samples, 12u);
  EXPECT_EQ(table.units.at(0).samples, 65u);
}

// Profiles of the original Coz tell only the samples of lines.
TEST(ExperimentTableTest, UnknownTotalMakesNothingOutOfScope) {
  profile::Profile profile = SmallProfile();
  profile.mutable_experiment(0)->clear_total_samples();
  profile.clear_sample_counts();
  const ExperimentTable table = BuildExperimentTable(profile);
  EXPECT_EQ(table.samples, 60u);
  EXPECT_EQ(table.out_of_scope_samples, 0u);
}

// Profiles of older versions have reasons that are no longer given.
TEST(ExperimentTableTest, ASessionOfWaitsSpeedsUpWaits) {
  profile::Profile profile = SmallProfile();
  profile::Session* other = profile.add_session();
  other->set_id(kSession + 1);
  other->mutable_options()->set_unit_kind(profile::UNIT_KIND_WAIT);
  *profile.add_unit() = profile.unit(0);
  profile.mutable_unit(1)->set_session(other->id());
  *profile.add_experiment() = profile.experiment(0);
  profile.mutable_experiment(1)->set_session(other->id());
  const ExperimentTable table = BuildExperimentTable(profile);
  ASSERT_EQ(table.experiments.size(), 2u);
  EXPECT_FALSE(table.experiments[0].speeds_up_waits);
  EXPECT_TRUE(table.experiments[1].speeds_up_waits);
}

TEST(ExperimentTableTest, ReasonThatIsNoLongerKnownStillTaints) {
  profile::Profile profile = SmallProfile();
  profile.mutable_experiment(0)->mutable_validity()->add_taint()->set_reason(
      static_cast<profile::Taint::Reason>(3));
  EXPECT_EQ(BuildExperimentTable(profile).experiments.at(0).taints, 1u);
}

// One visit in each of ten experiments of 1 s; the point is added and removed.
profile::Profile ChangingPoint(const std::vector<std::pair<uint64_t, bool>>& changes) {
  profile::Profile profile = SmallProfile();
  profile.clear_experiment();
  profile::ProgressPoint* point = profile.add_progress_point();
  point->set_session(kSession);
  point->set_id(1);
  point->set_name("f");
  for (uint32_t i = 0; i < 10; ++i) {
    profile::Experiment* experiment = profile.add_experiment();
    experiment->set_session(kSession);
    experiment->set_index(i);
    experiment->set_selected_unit(1);
    experiment->set_start_ns(uint64_t{i} * 1000);
    experiment->set_elapsed_ns(1000);
    experiment->set_effective_duration_ns(1000);
    experiment->add_point()->set_point(1);
    experiment->mutable_point(0)->set_visits(1);
  }
  for (const auto& [at_ns, added] : changes) {
    profile::PointChange* change = profile.add_point_change();
    change->set_session(kSession);
    change->set_point(1);
    change->set_at_ns(at_ns);
    change->set_added(added);
  }
  return profile;
}

std::vector<size_t> ExperimentsWithPoint(const profile::Profile& profile) {
  const ExperimentTable table = BuildExperimentTable(profile);
  std::vector<size_t> with;
  for (size_t i = 0; i < table.experiments.size(); ++i) {
    if (!table.experiments[i].points.empty()) with.push_back(i);
  }
  return with;
}

TEST(ExperimentTableTest, PointIsSeenOnlyWhereItWasThereThroughout) {
  using Indexes = std::vector<size_t>;
  EXPECT_EQ(ExperimentsWithPoint(ChangingPoint({})).size(), 10u);
  EXPECT_EQ(ExperimentsWithPoint(ChangingPoint({{6500, true}})), Indexes({7, 8, 9}));
  EXPECT_EQ(ExperimentsWithPoint(ChangingPoint({{1999, false}})), Indexes({0}));
  EXPECT_EQ(ExperimentsWithPoint(ChangingPoint({{2000, true}, {3001, false}, {8000, true}})),
            Indexes({2, 8, 9}));
}

TEST(ExperimentTableTest, StaysOfAPointAreInOrder) {
  const ExperimentTable table =
      BuildExperimentTable(ChangingPoint({{8000, true}, {2000, true}, {3001, false}}));
  ASSERT_EQ(table.points.at(0).stays.size(), 2u);
  EXPECT_EQ(table.points[0].stays[0].from_ns, 2000u);
  EXPECT_EQ(table.points[0].stays[0].to_ns, 3001u);
  EXPECT_EQ(table.points[0].stays[1].from_ns, 8000u);
  EXPECT_EQ(table.points[0].stays[1].to_ns, UINT64_MAX);
  // Visits count wherever they were.
  EXPECT_EQ(table.points[0].visits, 10u);
}

}  // namespace
}  // namespace coz::report
