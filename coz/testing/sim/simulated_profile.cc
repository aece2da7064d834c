#include "coz/testing/sim/simulated_profile.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "coz/experiment/record.h"
#include "coz/report/analysis/experiment_table.h"

namespace coz::sim {
namespace {

constexpr double kSpeedups[] = {0.25, 0.5, 0.75};
constexpr double kErrorOfTruth = 0.005;

profile::Profile WithoutExperiments(const Program& program,
                                    const experiment::SchedulerOptions& options) {
  profile::Profile profile;
  profile::Session* session = profile.add_session();
  session->set_id(1);
  session->set_sampling_period_ns(options.sampling_period_ns);
  session->set_kernel_samples_included(true);
  for (double s : options.fixed_speedups) {
    session->mutable_options()->add_fixed_virtual_speedup(s);
  }
  for (uint32_t line = 0; line < program.lines; ++line) {
    profile::Unit* unit = profile.add_unit();
    unit->set_session(1);
    unit->set_id(line + 1);
    unit->set_kind(profile::UNIT_KIND_LINE);
    unit->set_file("simulated");
    unit->set_line(line + 1);
  }
  profile::ProgressPoint* point = profile.add_progress_point();
  point->set_session(1);
  point->set_id(1);
  point->set_kind(profile::PROGRESS_POINT_KIND_THROUGHPUT);
  return profile;
}

void AddExperiment(const SimulatedExperiment& simulated, profile::Profile* profile) {
  const experiment::ExperimentRecord& record = simulated.record;
  profile::Experiment* added = profile->add_experiment();
  added->set_session(1);
  added->set_index(static_cast<uint32_t>(record.index));
  added->set_selected_unit(record.unit + 1);
  added->set_virtual_speedup(record.virtual_speedup);
  added->set_achieved_virtual_speedup(record.achieved_virtual_speedup);
  added->set_start_ns(record.start_ns);
  added->set_elapsed_ns(record.elapsed_ns);
  added->set_inserted_delay_ns(record.inserted_delay_ns);
  added->set_effective_duration_ns(
      static_cast<uint64_t>(std::max<int64_t>(0, record.effective_duration_ns)));
  added->set_selected_samples(record.selected_samples);
  added->set_total_samples(record.total_samples);
  for (size_t line = 0; line < simulated.line_samples.size(); ++line) {
    if (simulated.line_samples[line] == 0) continue;
    added->add_unit_id(static_cast<uint32_t>(line) + 1);
    added->add_unit_samples(simulated.line_samples[line]);
  }
  profile::PointCounts* counts = added->add_point();
  counts->set_point(1);
  counts->set_visits(record.points[0].visits);
  profile::Validity* validity = added->mutable_validity();
  validity->set_excess_ns(record.excess_ns);
  validity->set_owed_ns(std::max(record.max_owed_at_end_ns, record.max_owed_asleep_at_end_ns));
  validity->set_runnable_threads_average(record.mean_runnable_threads);
  validity->set_threads_beside_average(record.mean_threads_beside);
  validity->set_cpus(static_cast<uint32_t>(record.cpus));
  validity->set_live_threads(static_cast<uint32_t>(std::lround(record.mean_live_threads)));
  if (!experiment::IsValid(record)) validity->add_taint()->set_reason(profile::Taint::OTHER);
}

// `whole` without the systematic part, which was added as squares.
report::Estimate WithoutSystematic(const report::Estimate& whole,
                                   const report::SystematicError& error, double virtual_speedup) {
  const auto without = [&](double half, report::Side side) {
    const double systematic = error.HalfWidth(whole.value, virtual_speedup, side);
    return std::sqrt(std::max(0.0, half * half - systematic * systematic));
  };
  return {whole.value, whole.value - without(whole.value - whole.low, report::Side::kBelow),
          whole.value + without(whole.high - whole.value, report::Side::kAbove)};
}

}  // namespace

profile::Profile ProfileOf(const Program& program, const MachineOptions& machine,
                           const experiment::SchedulerOptions& options, uint64_t warmup_ns,
                           uint64_t end_ns) {
  profile::Profile profile = WithoutExperiments(program, options);
  for (const SimulatedExperiment& experiment :
       RunSimulatedExperiments(program, machine, options, warmup_ns, end_ns)) {
    AddExperiment(experiment, &profile);
  }
  return profile;
}

void Coverage::Add(const report::Estimate& estimate, double truth) {
  held_ += estimate.low <= truth && truth <= estimate.high ? 1 : 0;
  errors_ += estimate.value - truth;
  half_widths_.push_back((estimate.high - estimate.low) / 2);
}

void Coverage::Add(const Coverage& other) {
  held_ += other.held_;
  errors_ += other.errors_;
  half_widths_.insert(half_widths_.end(), other.half_widths_.begin(), other.half_widths_.end());
}

double Coverage::MedianHalfWidth() const {
  std::vector<double> half_widths = half_widths_;
  const auto middle = half_widths.begin() + static_cast<std::ptrdiff_t>(half_widths.size() / 2);
  std::nth_element(half_widths.begin(), middle, half_widths.end());
  return *middle;
}

double Coverage::MeanError() const { return errors_ / static_cast<double>(all()); }

void CoverageOfProfile::Add(const CoverageOfProfile& other) {
  whole.Add(other.whole);
  chance.Add(other.chance);
  curve.Add(other.curve);
  corrected_for_phases += other.corrected_for_phases;
  limited += other.limited;
  above_limit += other.above_limit;
}

CoverageOfProfile CoverageOf(const profile::Profile& profile, const Program& program,
                             const MachineOptions& machine, uint64_t truth_ns) {
  CoverageOfProfile coverage;
  const report::ExperimentTable table = report::BuildExperimentTable(profile);
  const report::Analysis analysis = report::Analyze(profile, table);
  if (analysis.points.empty()) return coverage;
  Question question;
  question.duration_ns = truth_ns;
  const double before = RealCost(program, machine, question, 0);
  for (const report::LineAnalysis& line : analysis.points[0].lines) {
    coverage.corrected_for_phases += line.phase_factor != 1 ? 1 : 0;
    question.line = table.units[line.unit].line - 1;
    for (const double speedup : kSpeedups) {
      const double truth = 1 - RealCost(program, machine, question, speedup) / before;
      coverage.curve.Add(line.curve.At(speedup), truth);
      coverage.limited += std::isfinite(line.gain_limit) ? 1 : 0;
      coverage.above_limit += truth > line.gain_limit * speedup + kErrorOfTruth ? 1 : 0;
      for (const report::SpeedupEstimate& s : line.speedups) {
        if (report::SpeedupKey(s.virtual_speedup) != report::SpeedupKey(speedup)) continue;
        const report::Estimate& whole = s.program_speedup;
        coverage.whole.Add(whole, truth);
        coverage.chance.Add(WithoutSystematic(whole, line.systematic, s.virtual_speedup), truth);
      }
    }
  }
  return coverage;
}

CoverageOfProfile CoverageOfRandomProgram(Kind kind, uint64_t seed, const RandomProfile& wanted,
                                          MachineOptions machine,
                                          experiment::SchedulerOptions options) {
  RandomQuestion drawn = DrawQuestion(kind, seed, wanted.threads);
  DivideTimes(drawn.program, wanted.parts);
  machine.seed = seed;
  options.seed = seed;
  if (wanted.one_line) {
    options.fixed_units = {drawn.question.line};
    options.fixed_speedups = {0};
    options.fixed_speedups.insert(options.fixed_speedups.end(), std::begin(kSpeedups),
                                  std::end(kSpeedups));
  }
  const uint64_t warmup_ns = drawn.question.warmup_ns;
  const profile::Profile profile =
      ProfileOf(drawn.program, machine, options, warmup_ns, warmup_ns + wanted.profile_ns);
  return CoverageOf(profile, drawn.program, machine, wanted.truth_ns);
}

}  // namespace coz::sim
