// Prints the error of predictions for random programs, by kind, with the seeds of the worst ones.
// Usage: ./bazelw run //coz/testing/sim:accuracy_report -- name=value ... with the names in kUsage.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "coz/testing/sim/accuracy.h"
#include "coz/testing/sim/arguments.h"
#include "coz/testing/sim/random_program.h"

namespace coz::sim {
namespace {

constexpr char kUsage[] =
    "programs= per kind; seed= the first; seconds= of simulated time each; period_us= of sampling; "
    "cpus=; "
    "overshoot_us= and cost_us= of pauses; latency_us= of wakes; fair= mutexes 0 or 1; pauses= per "
    "call; "
    "extend= time-outs 0 "
    "or 1; cancel= mutual delays 0 or 1; spread= delays 0 "
    "or 1; hold= CPUs in pauses 0 or 1; queued= credit 0 or 1; threads= at least; slice_us=; "
    "parts= into which all times are divided";

int Report(int argc, char** argv) {
  if (argc == 1) std::printf("%s\n", kUsage);
  const auto argument = [&](const char* name, uint64_t otherwise) {
    return Argument(argc, argv, name, otherwise);
  };
  const uint64_t programs = argument("programs", 20);
  const uint64_t first_seed = argument("seed", 1);
  MachineOptions machine;
  machine.cpus = static_cast<uint32_t>(argument("cpus", machine.cpus));
  machine.pause_overshoot_ns = argument("overshoot_us", 0) * kNsPerUs;
  machine.pause_cost_ns = argument("cost_us", 0) * kNsPerUs;
  machine.wake_latency_ns = argument("latency_us", 0) * kNsPerUs;
  machine.fair_mutexes = argument("fair", machine.fair_mutexes) != 0;
  machine.pauses_per_call = static_cast<uint32_t>(argument("pauses", machine.pauses_per_call));
  machine.extend_timeouts = argument("extend", machine.extend_timeouts) != 0;
  machine.cancel_delays = argument("cancel", machine.cancel_delays) != 0;
  machine.hold_cpu_in_pauses = argument("hold", machine.hold_cpu_in_pauses) != 0;
  machine.credit_queued = argument("queued", machine.credit_queued) != 0;
  machine.scheduling = argument("fair_class", 0) != 0 ? Scheduling::kFair : Scheduling::kFifo;
  machine.time_slice_ns = argument("slice_us", machine.time_slice_ns / kNsPerUs) * kNsPerUs;
  const auto threads = static_cast<uint32_t>(argument("threads", 0));
  machine.spread.spreads = argument("spread", machine.spread.spreads) != 0;
  std::printf("%-11s %8s %8s %8s %8s %8s  %s\n", "kind", "delayed", "mean", "abs", "p95", "worst",
              "seed: line speedup real predicted");
  for (int index = 0; index < kKinds; ++index) {
    const Kind kind = static_cast<Kind>(index);
    std::vector<double> errors;
    double sum = 0;
    double inserted = 0;
    double worst = -1;
    char worst_text[200] = "";
    for (uint64_t seed = first_seed; seed < first_seed + programs; ++seed) {
      RandomQuestion random = DrawQuestion(kind, seed, threads);
      DivideTimes(random.program, std::max<uint64_t>(argument("parts", 1), 1));
      machine.seed = seed;
      random.question.duration_ns = argument("seconds", 60) * kNsPerSecond;
      random.question.sampling_period_ns = argument("period_us", 1000) * kNsPerUs;
      const Answer answer = Ask(random.program, machine, random.question);
      const double error = answer.error();
      sum += error;
      inserted += static_cast<double>(answer.experiment.inserted_delay_ns) /
                  static_cast<double>(answer.experiment.elapsed_ns);
      errors.push_back(std::fabs(error));
      if (!(errors.back() > worst)) continue;
      worst = errors.back();
      std::snprintf(worst_text, sizeof(worst_text), "%d: %d %.0f %% %.4f %.4f",
                    static_cast<int>(seed), static_cast<int>(random.question.line),
                    random.question.speedup * 100, answer.real, answer.predicted);
    }
    std::sort(errors.begin(), errors.end());
    double total = 0;
    for (const double error : errors) total += error;
    const double count = static_cast<double>(errors.size());
    std::printf("%-11s %8.4f %8.4f %8.4f %8.4f %8.4f  %s\n", std::string(KindName(kind)).c_str(),
                inserted / count, sum / count, total / count, errors[errors.size() * 95 / 100],
                worst, worst_text);
  }
  return 0;
}

}  // namespace
}  // namespace coz::sim

int main(int argc, char** argv) { return coz::sim::Report(argc, argv); }
