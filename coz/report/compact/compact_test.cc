#include "coz/report/compact/compact.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/wait_times.h"
#include "coz/report/compact/testing/put_together.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/synthetic_profile.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using report_testing::SyntheticOptions;
using report_testing::SyntheticProfile;

// Hosts of different speed that drift; one line that bends.
profile::Profile SessionOf(uint64_t id, int experiments) {
  SyntheticOptions options;
  options.session = id;
  options.seed = id;
  options.ns_per_visit *= 1 + 0.2 * static_cast<double>(id % 7);
  options.drift = [](double s) { return 1 + 0.1 * std::sin(s / 20); };
  SyntheticProfile made(options, {{"/src/app/a.cc", 5, "A()", 0.5, 0.4, {}},
                                  {"/src/app/b.cc", 6, "B()", 0.3, 0, {}},
                                  {"/src/app/c.cc", 7, "C()", 0.1, 0,
                                   [](double s) { return 0.2 * std::min(s, 0.4); }}});
  made.profile().mutable_session(0)->mutable_machine()->set_host("host" + std::to_string(id % 3));
  for (int i = 0; i < experiments; i += 20) {
    made.AddRandomExperiments(20);
    made.AddBareInterval();
    made.AddControl();
  }
  made.End();
  return made.profile();
}

std::vector<profile::Profile> Sessions(uint64_t first, int count, int experiments) {
  std::vector<profile::Profile> sessions;
  sessions.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    sessions.push_back(SessionOf(first + static_cast<uint64_t>(i), experiments));
  }
  return sessions;
}

const LineAnalysis* LineOf(const AnalyzedProfile& whole, const std::string& name) {
  for (const LineAnalysis& line : whole.analysis.points.at(0).lines) {
    if (whole.table.units[line.unit].Name() == name) return &line;
  }
  return nullptr;
}

// Slopes are printed with two decimals, gains in whole percents: `tolerance` is half a unit of the
// last digit of a slope, and twice that is a unit of a gain.
void ExpectSame(const profile::Profile& ordinary, const profile::Profile& compact,
                double tolerance) {
  const auto expected = AnalyzeWhole(ordinary);
  const auto actual = AnalyzeWhole(compact);
  EXPECT_EQ(actual->analysis.experiments, expected->analysis.experiments);
  EXPECT_EQ(actual->analysis.baselines, expected->analysis.baselines);
  EXPECT_EQ(actual->table.samples, expected->table.samples);
  EXPECT_EQ(actual->table.out_of_scope_samples, expected->table.out_of_scope_samples);
  EXPECT_EQ(actual->table.run_time_ns, expected->table.run_time_ns);
  EXPECT_EQ(actual->table.points.at(0).visits, expected->table.points.at(0).visits);
  ASSERT_TRUE(actual->analysis.points.at(0).sampling_slowdown.has_value());
  EXPECT_NEAR(actual->analysis.points[0].sampling_slowdown->share.value,
              expected->analysis.points.at(0).sampling_slowdown->share.value, tolerance);
  ASSERT_EQ(actual->analysis.points[0].lines.size(), expected->analysis.points[0].lines.size());
  for (const LineAnalysis& line : expected->analysis.points[0].lines) {
    const std::string name = expected->table.units[line.unit].Name();
    const LineAnalysis* other = LineOf(*actual, name);
    ASSERT_NE(other, nullptr) << name;
    EXPECT_EQ(other->verdict, line.verdict) << name;
    EXPECT_EQ(other->baselines, line.baselines) << name;
    EXPECT_EQ(other->others, line.others) << name;
    EXPECT_NEAR(other->slope.value, line.slope.value, tolerance) << name;
    EXPECT_NEAR(other->slope.low, line.slope.low, tolerance) << name;
    EXPECT_NEAR(other->slope.high, line.slope.high, tolerance) << name;
    EXPECT_EQ(other->curve.bend.has_value(), line.curve.bend.has_value()) << name;
    for (const double at : {0.3, 0.6, 1.0}) {
      const Estimate a = other->curve.At(at);
      const Estimate b = line.curve.At(at);
      EXPECT_NEAR(a.value, b.value, 2 * tolerance) << name << " at " << at;
      EXPECT_NEAR(a.low, b.low, 2 * tolerance) << name << " at " << at;
      EXPECT_NEAR(a.high, b.high, 2 * tolerance) << name << " at " << at;
    }
    ASSERT_EQ(other->speedups.size(), line.speedups.size());
    for (size_t i = 0; i < line.speedups.size(); ++i) {
      // Outliers are in none of them.
      EXPECT_NEAR(other->speedups[i].experiments, line.speedups[i].experiments, line.outliers);
      EXPECT_NEAR(other->speedups[i].program_speedup.value, line.speedups[i].program_speedup.value,
                  2 * tolerance);
    }
  }
}

TEST(CompactTest, ControlsArePooled) {
  const std::vector<profile::Profile> sessions = Sessions(1, 100, 200);
  const auto expected = AnalyzeWhole(Together(sessions));
  const profile::Profile compact = Compacted(sessions, 4000);
  EXPECT_LT(compact.control_size(), 500);
  const auto actual = AnalyzeWhole(compact);
  ASSERT_EQ(expected->table.delay_factors.size(), 1u);
  ASSERT_EQ(actual->table.delay_factors.size(), 1u);
  const DelayFactor& pooled = actual->table.delay_factors[0];
  EXPECT_EQ(pooled.controls, 1000);
  EXPECT_NEAR(pooled.measured.value, expected->table.delay_factors[0].measured.value, 0.005);
  EXPECT_NEAR(pooled.used, expected->table.delay_factors[0].used, 0.005);
  EXPECT_EQ(actual->table.samples, expected->table.samples);
}

TEST(CompactTest, FewExperimentsStayAsTheyAre) {
  const std::vector<profile::Profile> sessions = Sessions(1, 3, 60);
  EXPECT_EQ(Compacted(sessions, 180).SerializeAsString(), Together(sessions).SerializeAsString());
}

TEST(CompactTest, ReportSaysTheSameWithinRounding) {
  const std::vector<profile::Profile> sessions = Sessions(1, 100, 200);
  const profile::Profile compact = Compacted(sessions, 4000);
  EXPECT_LE(compact.experiment_size(), 4000);
  ExpectSame(Together(sessions), compact, 0.005);
  // Hosts stay apart as long as there is room for some blocks of each.
  const profile::Profile by_host = Compacted(sessions, 13'000);
  EXPECT_EQ(by_host.session_size(), 3);
  ExpectSame(Together(sessions), by_host, 0.005);
}

// Sums of doubles differ in their last digits, nothing else may.
void ExpectEqual(const profile::Profile& a, const profile::Profile& b) {
  ASSERT_EQ(a.experiment_size(), b.experiment_size());
  for (int i = 0; i < a.experiment_size(); ++i) {
    const profile::Experiment& x = a.experiment(i);
    const profile::Experiment& y = b.experiment(i);
    ASSERT_EQ(x.block(), y.block());
    EXPECT_EQ(x.selected_unit(), y.selected_unit());
    EXPECT_EQ(x.pooled(), y.pooled());
    EXPECT_EQ(x.effective_duration_ns(), y.effective_duration_ns());
    EXPECT_NEAR(x.achieved_virtual_speedup(), y.achieved_virtual_speedup(), 1e-12);
    ASSERT_EQ(x.point_size(), y.point_size());
    for (int k = 0; k < x.point_size(); ++k) {
      EXPECT_EQ(x.point(k).visits(), y.point(k).visits());
      EXPECT_NEAR(x.point(k).pooled_time_ns() / y.point(k).pooled_time_ns(), 1, 1e-12);
    }
    EXPECT_EQ(std::vector<uint64_t>(x.unit_samples().begin(), x.unit_samples().end()),
              std::vector<uint64_t>(y.unit_samples().begin(), y.unit_samples().end()));
  }
  ExpectSame(a, b, 1e-9);
}

TEST(CompactTest, QuotaIsTakenIntoAccountAsBefore) {
  std::vector<profile::Profile> sessions = Sessions(1, 40, 200);
  for (profile::Profile& session : sessions) {
    for (profile::Experiment& experiment : *session.mutable_experiment()) {
      profile::Validity& validity = *experiment.mutable_validity();
      validity.set_quota_periods(5);
      validity.set_quota_throttled_periods(5);
      validity.set_quota_allowed_ns(experiment.elapsed_ns() / 2);
      validity.set_quota_used_ns(experiment.elapsed_ns() / 2);
      validity.set_imposed_ns(experiment.inserted_delay_ns() / 4);
    }
  }
  const auto expected = AnalyzeWhole(Together(sessions));
  const auto actual = AnalyzeWhole(Compacted(sessions, 400));
  EXPECT_LT(actual->table.experiments.size(), expected->table.experiments.size());
  for (const LineAnalysis& line : expected->analysis.points.at(0).lines) {
    const std::string name = expected->table.units[line.unit].Name();
    const LineAnalysis* other = LineOf(*actual, name);
    ASSERT_NE(other, nullptr) << name;
    EXPECT_NEAR(other->slope.value, line.slope.value, 0.01) << name;
  }
}

TEST(CompactTest, OrderAndGroupingMakeNoDifference) {
  constexpr size_t kMost = 1500;
  const std::vector<profile::Profile> a = Sessions(1, 20, 100);
  const std::vector<profile::Profile> b = Sessions(21, 25, 100);
  const std::vector<profile::Profile> c = Sessions(46, 3, 100);  // too few to be summed up
  std::vector<profile::Profile> all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  const profile::Profile at_once = Compacted(all, kMost);
  std::reverse(all.begin(), all.end());
  ExpectEqual(Compacted(all, kMost), at_once);
  const profile::Profile ab = Compacted({Compacted(a, kMost), Compacted(b, kMost)}, kMost);
  const profile::Profile bc = Compacted({Compacted(c, kMost), Compacted(b, kMost)}, kMost);
  ExpectEqual(Compacted({ab, Compacted(c, kMost)}, kMost), at_once);
  ExpectEqual(Compacted({bc, Compacted(a, kMost)}, kMost), at_once);
}

// Of hosts that are put together, too.
TEST(CompactTest, OwnWaitsAreAddedUpByTheirCall) {
  std::vector<profile::Profile> sessions = Sessions(1, 40, 20);
  for (size_t i = 0; i < sessions.size(); ++i) {
    for (uint32_t line = 1; line <= 2; ++line) {
      profile::OwnWait* wait = sessions[i].mutable_session_end(0)->add_own_wait();
      wait->set_file("/src/app/a.cc");
      wait->set_line(line);
      wait->set_function("A()");
      wait->set_thread_group(i % 2 == 0 ? "io" : "");
      wait->set_waited_ns(line * 1000 + i);
    }
  }
  const std::vector<OwnWaitRow> expected = OwnWaits(Together(sessions));
  ASSERT_EQ(expected.size(), 4u);
  for (const size_t most : {700, 100}) {
    const profile::Profile again = Compacted({Compacted(sessions, most)}, most);
    const std::vector<OwnWaitRow> actual = OwnWaits(again);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(actual[i].call.Name(), expected[i].call.Name());
      EXPECT_EQ(actual[i].call.function, "A()");
      EXPECT_EQ(actual[i].waited_ns, expected[i].waited_ns);
    }
    EXPECT_LT(again.experiment_size(), 800);
    EXPECT_EQ(again.session(0).pooled_machines(), most == 100);
  }
}

TEST(CompactTest, SamplesOfLoopsThatSpinAreAddedUp) {
  std::vector<profile::Profile> sessions = Sessions(1, 40, 20);
  for (profile::Profile& session : sessions) {
    profile::SampleCounts* counts = session.add_sample_counts();
    counts->set_session(session.session(0).id());
    counts->add_spinning_unit_id(session.unit(0).id());
    counts->add_spinning_unit_samples(7);
  }
  const ExperimentTable expected = BuildExperimentTable(Together(sessions));
  EXPECT_EQ(expected.units[0].spinning_samples, 280u);
  const profile::Profile again = Compacted({Compacted(sessions, 700)}, 700);
  for (const UnitRow& unit : BuildExperimentTable(again).units) {
    EXPECT_EQ(unit.spinning_samples, unit.Name() == expected.units[0].Name() ? 280u : 0u);
  }
}

TEST(CompactTest, OrdinaryAndCompactProfilesTogetherAreReported) {
  const std::vector<profile::Profile> a = Sessions(1, 60, 200);
  const std::vector<profile::Profile> b = Sessions(61, 40, 200);
  profile::Profile mixed = Compacted(a, 4000);
  mixed.MergeFrom(Together(b));
  profile::Profile ordinary = Together(a);
  ordinary.MergeFrom(Together(b));
  ExpectSame(ordinary, mixed, 0.005);
}

TEST(CompactTest, HostsArePutTogetherWhereTheyAreTooMany) {
  std::vector<profile::Profile> sessions = Sessions(1, 300, 20);
  for (size_t i = 0; i < sessions.size(); ++i) {
    sessions[i].mutable_session(0)->mutable_machine()->set_host("host" + std::to_string(i));
  }
  const profile::Profile compact = Compacted(sessions, 4000);
  EXPECT_EQ(compact.session_size(), 1);
  EXPECT_TRUE(compact.session(0).pooled_machines());
  EXPECT_EQ(compact.session(0).pooled_session_size(), 300);
  ExpectSame(Together(sessions), compact, 0.01);
}

}  // namespace
}  // namespace coz::report
