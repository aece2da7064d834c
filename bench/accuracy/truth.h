// What a line's real speedup does to its program: runs with the work really shortened, in turn with runs as it is.
//
// Shape    one figure for each speedup asked for, in order
// Units    fractions
// Errors   those of RunAndRead
// Threads  safe
// Signals  none
// Source   DESIGN.md section 7
#ifndef COZ_BENCH_ACCURACY_TRUTH_H_
#define COZ_BENCH_ACCURACY_TRUTH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "bench/accuracy/cases.h"
#include "bench/accuracy/program_run.h"

namespace coz::accuracy {

struct TruthOptions {
  double steps_per_us = 0;
  double seconds_per_run = 1;
  int rounds = 5;
  Patience patience;
};

struct Truth {
  std::vector<double> program_speedups;
  // Largest less smallest over the rounds of each speedup's figure.
  std::vector<double> spreads;
  double cpus_used = 0;  // CPU time per elapsed time of the runs as they are
  int reruns = 0;
  int disturbed = 0;  // runs that stayed disturbed and were used
};

absl::StatusOr<Truth> MeasureTruth(const Case& one_case, const Line& line,
                                   const std::vector<double>& speedups,
                                   const TruthOptions& options);

}  // namespace coz::accuracy

#endif  // COZ_BENCH_ACCURACY_TRUTH_H_
