#include "bench/accuracy/truth.h"

#include <algorithm>
#include <utility>

#include "bench/median.h"

namespace coz::accuracy {

TruthRounds::TruthRounds(const Case& one_case, const Line& line,
                         const std::vector<double>& speedups, const TruthOptions& options,
                         std::vector<std::string> profiler)
    : case_(one_case),
      line_(line),
      speedups_(speedups),
      options_(options),
      profiler_(std::move(profiler)),
      figures_(speedups.size()) {}

// Returns the least disturbed of as many runs as patience allows. Variant 0 is the unchanged
// program.
absl::StatusOr<ProgramRun> TruthRounds::Run(size_t variant) {
  Variant changed;
  if (variant > 0) {
    changed.label = line_.label;
    changed.scale = 1 - speedups_[variant - 1];
  }
  changed.threads = options_.threads;
  changed.plan = case_.plan;
  const std::vector<std::string> bare =
      ProgramCommand(ProgramPath(case_), options_.seconds_per_run, options_.steps_per_us, changed);
  std::vector<std::string> command = profiler_;
  command.insert(command.end(), bare.begin(), bare.end());
  absl::StatusOr<ProgramRun> best;
  for (int i = 0; i <= options_.patience.reruns; ++i) {
    absl::StatusOr<ProgramRun> run = RunAndRead(command, options_.seconds_per_run);
    if (!run.ok()) return run;
    if (i == 0 || run->Disturbance() < best->Disturbance()) best = run;
    if (best->Disturbance() <= options_.patience.tolerated_disturbance) return best;
    if (i < options_.patience.reruns) ++reruns_;
  }
  ++disturbed_;
  return best;
}

absl::Status TruthRounds::Measure(int rounds) {
  const size_t variants = 1 + speedups_.size();
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> costs(variants);
    for (size_t i = 0; i < variants; ++i) {
      const size_t variant = (first_variant_ + i) % variants;
      const absl::StatusOr<ProgramRun> run = Run(variant);
      if (!run.ok()) return run.status();
      costs[variant] = run->Cost(case_.is_latency);
    }
    for (size_t i = 0; i < speedups_.size(); ++i) {
      figures_[i].push_back(1 - costs[1 + i] / costs[0]);
    }
    ++first_variant_;
  }
  return absl::OkStatus();
}

Truth TruthRounds::Result() const {
  Truth truth;
  for (const std::vector<double>& values : figures_) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    truth.program_speedups.push_back(Median(values));
    truth.spreads.push_back(*most - *least);
  }
  truth.reruns = reruns_;
  truth.disturbed = disturbed_;
  return truth;
}

}  // namespace coz::accuracy
