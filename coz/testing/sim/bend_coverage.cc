#include "coz/testing/sim/bend_coverage.h"

#include <cmath>
#include <cstddef>
#include <random>

#include "coz/base/sampling_period.h"
#include "coz/experiment/options.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/curve.h"
#include "coz/report/wording/headline.h"
#include "coz/testing/sim/simulated_profile.h"
#include "coz/testing/sim/simulator.h"
#include "coz/testing/sim/study_programs.h"

namespace coz::sim {
namespace {

constexpr uint64_t kWarmupNs = 500 * kNsPerMs;

void AddNoise(const BendProfile& wanted, profile::Profile* profile) {
  std::mt19937_64 random(wanted.seed);
  std::normal_distribution<double> error(0, wanted.noise);
  for (profile::Experiment& e : *profile->mutable_experiment()) {
    const double factor = std::exp(error(random));
    e.set_effective_duration_ns(
        static_cast<uint64_t>(factor * static_cast<double>(e.effective_duration_ns())));
  }
}

BendCoverage CoverageOf(const report::Curve& curve, const KnownLine& known) {
  BendCoverage coverage;
  coverage.curves = 1;
  if (!curve.bend.has_value()) return coverage;
  const report::Bend& bend = *curve.bend;
  const bool holds = known.bend > 0 && bend.low <= known.bend && known.bend <= bend.high;
  coverage.bent = 1;
  coverage.held = holds ? 1 : 0;
  coverage.widths = {bend.high - bend.low};
  if (report::IsPlaced(bend)) {
    coverage.placed = 1;
    coverage.right = coverage.held;
  }
  return coverage;
}

}  // namespace

KnownProgram DemoProgram() {
  return {Stages().program, {{"check", 0.75}, {"decode", 0.5}, {"compress", 0}}};
}

KnownProgram StraightProgram() {
  KnownProgram known = {{}, {{"half", 0}, {"third", 0}, {"sixth", 0}}};
  known.program.lines = 3;
  known.program.points = 1;
  known.program.codes.resize(1);
  CodeBuilder loop(&known.program.codes[0]);
  constexpr uint32_t kSpreadPermille = 20;
  for (uint32_t line = 0; line < 3; ++line) {
    loop.Work(line, (line == 0 ? 500 : 333 / line) * kNsPerUs, kSpreadPermille);
  }
  loop.On(OpKind::kProgress, 0).Jump(0);
  known.program.threads = {0};
  return known;
}

void BendCoverage::Add(const BendCoverage& other) {
  curves += other.curves;
  bent += other.bent;
  held += other.held;
  placed += other.placed;
  right += other.right;
  widths.insert(widths.end(), other.widths.begin(), other.widths.end());
}

std::vector<BendCoverage> CoverageOfBends(const KnownProgram& known, const BendProfile& wanted) {
  MachineOptions machine;
  machine.seed = wanted.seed;
  experiment::SchedulerOptions options;
  options.seed = wanted.seed;
  options.sampling_period_ns = DefaultSamplingPeriodNs(wanted.seed);
  profile::Profile profile =
      ProfileOf(known.program, machine, options, kWarmupNs, kWarmupNs + wanted.profile_ns);
  AddNoise(wanted, &profile);
  const report::ExperimentTable table = report::BuildExperimentTable(profile);
  const report::Analysis analysis = report::Analyze(profile, table);
  std::vector<BendCoverage> coverage(known.lines.size());
  if (analysis.points.empty()) return coverage;
  for (const report::LineAnalysis& line : analysis.points[0].lines) {
    const size_t number = table.units[line.unit].line - 1;
    coverage[number].Add(CoverageOf(line.curve, known.lines[number]));
  }
  return coverage;
}

}  // namespace coz::sim
