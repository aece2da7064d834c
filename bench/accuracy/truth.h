// What a line's real speedup does to its program. Runs with the work really shortened alternate
// with runs of the unchanged program.
//
// Shape    one figure for each speedup asked for, in order; the arguments of TruthRounds outlive it
// Units    fractions
// Errors   those of RunAndRead
// Threads  safe
// Signals  none
// Source   docs/results.md, "Accuracy"
#ifndef COZ_BENCH_ACCURACY_TRUTH_H_
#define COZ_BENCH_ACCURACY_TRUTH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/accuracy/cases.h"
#include "bench/accuracy/program_run.h"

namespace coz::accuracy {

struct TruthOptions {
  double steps_per_us = 0;
  int threads = 0;  // of a wide program; 0: its default
  double seconds_per_run = 1;
  int rounds = 5;
  Patience patience;
};

struct Truth {
  std::vector<double> program_speedups;
  // For each speedup the largest figure of any round less the smallest.
  std::vector<double> spreads;
  int reruns = 0;
  int disturbed = 0;  // runs that stayed disturbed and were used
};

// Rounds of runs. They are measured in parts, some before the measurement that they are compared
// with and some after it, because a machine does not stay the same for minutes.
class TruthRounds {
 public:
  // The program runs under `profiler`, a command to which the program's own is appended. If that is
  // empty, it runs bare.
  TruthRounds(const Case& one_case, const Line& line, const std::vector<double>& speedups,
              const TruthOptions& options, std::vector<std::string> profiler = {});

  // Each round runs the program unchanged and with every speedup. Each round begins with another of
  // these than the round before.
  absl::Status Measure(int rounds);
  Truth Result() const;

 private:
  absl::StatusOr<ProgramRun> Run(size_t variant);

  const Case& case_;
  const Line& line_;
  const std::vector<double>& speedups_;
  const TruthOptions& options_;
  const std::vector<std::string> profiler_;
  size_t first_variant_ = 0;
  std::vector<std::vector<double>> figures_;  // by speedup and round
  int reruns_ = 0;
  int disturbed_ = 0;
};

}  // namespace coz::accuracy

#endif  // COZ_BENCH_ACCURACY_TRUTH_H_
