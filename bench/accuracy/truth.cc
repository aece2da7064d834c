#include "bench/accuracy/truth.h"

#include <algorithm>

#include "bench/median.h"

namespace coz::accuracy {
namespace {

// The least disturbed of as many runs as patience allows.
absl::StatusOr<ProgramRun> RunUndisturbed(const std::vector<std::string>& command,
                                          const TruthOptions& options, Truth* truth) {
  absl::StatusOr<ProgramRun> best;
  for (int i = 0; i <= options.patience.reruns; ++i) {
    absl::StatusOr<ProgramRun> run = RunAndRead(command, options.seconds_per_run);
    if (!run.ok()) return run;
    if (i == 0 || run->Disturbance() < best->Disturbance()) best = run;
    if (best->Disturbance() <= options.patience.tolerated_disturbance) return best;
    ++truth->reruns;
  }
  ++truth->disturbed;
  return best;
}

}  // namespace

absl::StatusOr<Truth> MeasureTruth(const Case& one_case, const Line& line,
                                   const std::vector<double>& speedups,
                                   const TruthOptions& options) {
  Truth truth;
  std::vector<std::vector<double>> figures(speedups.size());
  std::vector<double> cpus_used;
  const std::string program = ProgramPath(one_case);
  for (int round = 0; round < options.rounds; ++round) {
    const absl::StatusOr<ProgramRun> as_is = RunUndisturbed(
        ProgramCommand(program, options.seconds_per_run, options.steps_per_us), options, &truth);
    if (!as_is.ok()) return as_is.status();
    cpus_used.push_back(as_is->cpu_ns / as_is->elapsed_ns);
    for (size_t i = 0; i < speedups.size(); ++i) {
      const absl::StatusOr<ProgramRun> faster =
          RunUndisturbed(ProgramCommand(program, options.seconds_per_run, options.steps_per_us,
                                        line.label, 1 - speedups[i]),
                         options, &truth);
      if (!faster.ok()) return faster.status();
      figures[i].push_back(1 -
                           faster->Cost(one_case.is_latency) / as_is->Cost(one_case.is_latency));
    }
  }
  for (const std::vector<double>& values : figures) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    truth.program_speedups.push_back(Median(values));
    truth.spreads.push_back(*most - *least);
  }
  truth.cpus_used = Median(cpus_used);
  return truth;
}

}  // namespace coz::accuracy
