// Whether the whole intervals of an ordinary profile hold what really happens: random programs,
// profiled by the real scheduler with its short experiments, analysed as coz report does. They are
// hard ones: rounds take tens of milliseconds, so half of them have nine visits or fewer in an
// experiment, and queues between threads fill or drain meanwhile.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "coz/base/clock.h"
#include "coz/experiment/options.h"
#include "coz/experiment/record.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/testing/sim/accuracy.h"
#include "coz/testing/sim/random_program.h"
#include "gtest/gtest.h"

namespace coz::sim {
namespace {

constexpr double kSpeedups[] = {0.25, 0.5, 0.75};
constexpr uint64_t kProgramsPerKind = 5;
constexpr uint64_t kProfileNs = 60 * kNsPerSecond;

profile::Profile EmptyProfile(const experiment::SchedulerOptions& options) {
  profile::Profile profile;
  profile::Session* session = profile.add_session();
  session->set_id(1);
  session->set_sampling_period_ns(options.sampling_period_ns);
  session->set_kernel_samples_included(true);
  for (double s : options.fixed_speedups) {
    session->mutable_options()->add_fixed_virtual_speedup(s);
  }
  profile::Unit* unit = profile.add_unit();
  unit->set_session(1);
  unit->set_id(1);
  unit->set_kind(profile::UNIT_KIND_LINE);
  profile::ProgressPoint* point = profile.add_progress_point();
  point->set_session(1);
  point->set_id(1);
  point->set_kind(profile::PROGRESS_POINT_KIND_THROUGHPUT);
  return profile;
}

void Add(const experiment::ExperimentRecord& record, profile::Profile* profile) {
  profile::Experiment* added = profile->add_experiment();
  added->set_session(1);
  added->set_index(static_cast<uint32_t>(record.index));
  added->set_selected_unit(1);
  added->set_virtual_speedup(record.virtual_speedup);
  added->set_achieved_virtual_speedup(record.achieved_virtual_speedup);
  added->set_start_ns(record.start_ns);
  added->set_elapsed_ns(record.elapsed_ns);
  added->set_inserted_delay_ns(record.inserted_delay_ns);
  added->set_effective_duration_ns(
      static_cast<uint64_t>(std::max<int64_t>(0, record.effective_duration_ns)));
  added->set_selected_samples(record.selected_samples);
  added->set_total_samples(record.total_samples);
  added->add_unit_id(1);
  added->add_unit_samples(record.selected_samples);
  profile::PointCounts* counts = added->add_point();
  counts->set_point(1);
  counts->set_visits(record.points[0].visits);
  profile::Validity* validity = added->mutable_validity();
  validity->set_excess_ns(record.excess_ns);
  validity->set_owed_ns(std::max(record.max_owed_at_end_ns, record.max_owed_asleep_at_end_ns));
  validity->set_runnable_threads_average(record.mean_runnable_threads);
  validity->set_cpus(static_cast<uint32_t>(record.cpus));
  validity->set_live_threads(static_cast<uint32_t>(record.mean_live_threads + 0.5));
  if (!experiment::IsValid(record)) validity->add_taint()->set_reason(profile::Taint::OTHER);
}

struct Coverage {
  int held = 0;
  int all = 0;
  std::vector<double> half_widths;

  void Add(const report::Estimate& estimate, double truth) {
    held += estimate.low <= truth && truth <= estimate.high ? 1 : 0;
    ++all;
    half_widths.push_back((estimate.high - estimate.low) / 2);
  }
};

void AddProgram(Kind kind, uint64_t seed, Coverage* coverage) {
  const RandomQuestion drawn = DrawQuestion(kind, seed);
  MachineOptions machine;
  machine.seed = seed;
  experiment::SchedulerOptions options;
  options.seed = seed;
  options.fixed_units = {drawn.question.line};
  options.fixed_speedups = {0};
  options.fixed_speedups.insert(options.fixed_speedups.end(), std::begin(kSpeedups),
                                std::end(kSpeedups));
  profile::Profile profile = EmptyProfile(options);
  for (const experiment::ExperimentRecord& record :
       RunExperiments(drawn.program, machine, options, drawn.question.warmup_ns, kProfileNs)) {
    Add(record, &profile);
  }
  const report::Analysis analysis = report::Analyze(profile, report::BuildExperimentTable(profile));
  // A line without samples or visits has no figure.
  if (analysis.points.empty() || analysis.points[0].lines.empty()) return;
  Question question = drawn.question;
  question.duration_ns = 2 * kProfileNs;
  const double before = RealCost(drawn.program, machine, question, 0);
  for (const report::SpeedupEstimate& s : analysis.points[0].lines[0].speedups) {
    const double after = RealCost(drawn.program, machine, question, s.virtual_speedup);
    coverage->Add(s.program_speedup, 1 - after / before);
  }
}

TEST(CoverageTest, WholeIntervalsOfRandomProgramsHoldTheTruth) {
  Coverage coverage;
  for (int kind = 0; kind < kKinds; ++kind) {
    if (!PredictionIsExact(static_cast<Kind>(kind))) continue;
    for (uint64_t seed = 1; seed <= kProgramsPerKind; ++seed) {
      AddProgram(static_cast<Kind>(kind), seed, &coverage);
    }
  }
  ASSERT_GT(coverage.all, 60);
  std::vector<double>& half = coverage.half_widths;
  std::nth_element(half.begin(), half.begin() + coverage.all / 2, half.end());
  RecordProperty("held", coverage.held);
  RecordProperty("of", coverage.all);
  RecordProperty("median_half_width", std::to_string(half[half.size() / 2]));
  EXPECT_GE(coverage.held, 0.93 * coverage.all);
  // Nor is that because intervals say nothing.
  EXPECT_LT(half[half.size() / 2], 0.15);
}

}  // namespace
}  // namespace coz::sim
