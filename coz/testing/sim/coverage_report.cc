// Prints how many 95 % intervals of random programs hold what really happens, by kind of program.
// Usage: ./bazelw run -c opt //coz/testing/sim:coverage_report -- name=value ... with the names in
// kUsage.
#include <algorithm>
#include <cstdio>
#include <string>

#include "coz/base/clock.h"
#include "coz/experiment/options.h"
#include "coz/testing/sim/arguments.h"
#include "coz/testing/sim/random_program.h"
#include "coz/testing/sim/simulated_profile.h"
#include "coz/testing/sim/simulator.h"

namespace coz::sim {
namespace {

constexpr char kUsage[] =
    "programs= per kind; seed= the first; seconds= of each profile; truth= seconds of each run "
    "without a profiler; parts= into which all times are divided; lines= 1: one line at 0, 25, 50 "
    "and 75 %, 0: all lines and speedups, as coz run draws them; threads= at least; shortest_ms= "
    "of an "
    "experiment; lead_visits= and min_visits= of the scheduler; cpus=; far= 1: seeds of programs "
    "whose intervals miss";

void PrintFar(Kind kind, uint64_t seed, const CoverageOfProfile& coverage) {
  std::printf("%-11s seed %3d: off by %+6.2f points on average, median half width %5.2f\n",
              std::string(KindName(kind)).c_str(), static_cast<int>(seed),
              100 * coverage.whole.MeanError(), 100 * coverage.whole.MedianHalfWidth());
}

void Print(const std::string& name, const CoverageOfProfile& coverage) {
  std::printf("%-11s", name.c_str());
  for (const Coverage* each : {&coverage.whole, &coverage.chance, &coverage.curve}) {
    if (each->all() == 0) {
      std::printf("          none             ");
    } else {
      std::printf("  %4d/%4d %5.1f %% ±%5.2f", each->held(), each->all(), 100 * each->Share(),
                  100 * each->MedianHalfWidth());
    }
  }
  if (coverage.whole.all() != 0) std::printf("  %+6.2f", 100 * coverage.whole.MeanError());
  std::printf(" %6d %4d/%d\n", coverage.corrected_for_phases, coverage.above_limit,
              coverage.limited);
}

int Report(int argc, char** argv) {
  if (argc == 1) std::printf("%s\n", kUsage);
  const auto argument = [&](const char* name, uint64_t otherwise) {
    return Argument(argc, argv, name, otherwise);
  };
  RandomProfile wanted;
  wanted.parts = std::max<uint64_t>(argument("parts", 1), 1);
  wanted.threads = static_cast<uint32_t>(argument("threads", 0));
  wanted.one_line = argument("lines", 0) == 1;
  wanted.profile_ns = argument("seconds", 60) * kNsPerSecond;
  wanted.truth_ns = argument("truth", 600) * kNsPerSecond;
  MachineOptions machine;
  machine.cpus = static_cast<uint32_t>(argument("cpus", machine.cpus));
  experiment::SchedulerOptions options;
  options.shortest_experiment_ns =
      argument("shortest_ms", options.shortest_experiment_ns / kNsPerMs) * kNsPerMs;
  options.lead_in_visits = argument("lead_visits", options.lead_in_visits);
  options.min_visits = argument("min_visits", options.min_visits);
  const uint64_t first_seed = argument("seed", 1);
  const uint64_t end_seed = first_seed + argument("programs", 20);
  std::printf("%-11s  %-27s %-27s %-27s %s\n", "kind", "whole", "chance alone", "curve",
              "error phases above limit");
  CoverageOfProfile all;
  for (int index = 0; index < kKinds; ++index) {
    const Kind kind = static_cast<Kind>(index);
    if (!PredictionIsExact(kind)) continue;
    CoverageOfProfile of_kind;
    for (uint64_t seed = first_seed; seed < end_seed; ++seed) {
      const CoverageOfProfile coverage =
          CoverageOfRandomProgram(kind, seed, wanted, machine, options);
      of_kind.Add(coverage);
      if (argument("far", 0) != 0 && coverage.whole.held() < coverage.whole.all()) {
        PrintFar(kind, seed, coverage);
      }
    }
    Print(std::string(KindName(kind)), of_kind);
    all.Add(of_kind);
  }
  Print("all", all);
  return 0;
}

}  // namespace
}  // namespace coz::sim

int main(int argc, char** argv) { return coz::sim::Report(argc, argv); }
