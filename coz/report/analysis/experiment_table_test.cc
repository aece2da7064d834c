#include "coz/report/analysis/experiment_table.h"

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
TEST(ExperimentTableTest, ReasonThatIsNoLongerKnownStillTaints) {
  profile::Profile profile = SmallProfile();
  profile.mutable_experiment(0)->mutable_validity()->add_taint()->set_reason(
      static_cast<profile::Taint::Reason>(3));
  EXPECT_EQ(BuildExperimentTable(profile).experiments.at(0).taints, 1u);
}

}  // namespace
}  // namespace coz::report
