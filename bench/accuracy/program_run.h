// One run of an accuracy program, bare or under a profiler, and what it says about itself.
//
// Shape    the command's output is kept only where something went wrong
// Units    ns; visits
// Errors   UNAVAILABLE, with the command and the end of its output, if it failed or took too long
// Threads  safe
// Signals  none
// Source   none
#ifndef COZ_BENCH_ACCURACY_PROGRAM_RUN_H_
#define COZ_BENCH_ACCURACY_PROGRAM_RUN_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace coz::accuracy {

struct ProgramRun {
  double visits = 0;
  double elapsed_ns = 0;
  double cpu_ns = 0;
  double wait_for_cpu_ns = 0;
  double latency_ns = 0;

  // The share of the run in which a thread was ready to run and did not run.
  double Disturbance() const { return elapsed_ns > 0 ? wait_for_cpu_ns / elapsed_ns : 1; }
  // The figure that a perfect optimization makes smaller: time per visit, or the latency.
  double Cost(bool is_latency) const { return is_latency ? latency_ns : elapsed_ns / visits; }
};

struct Variant {
  std::string label;  // of the line whose work is scaled; empty: none
  double scale = 1;
  int threads = 0;   // 0: as many as it takes by itself
  std::string plan;  // of programs/random.cc; empty: its default
};

// The command of a program that runs for `seconds`.
std::vector<std::string> ProgramCommand(const std::string& program, double seconds,
                                        double steps_per_us, const Variant& variant = {});

// Runs a command whose output holds the figures of a program. `while_running` gets its process.
absl::StatusOr<ProgramRun> RunAndRead(const std::vector<std::string>& command, double seconds,
                                      const std::string& folder = "",
                                      const std::function<void(pid_t)>& while_running = nullptr);

// How often a run is repeated that a neighbour on the machine has disturbed.
struct Patience {
  double tolerated_disturbance = 0.02;
  int reruns = 10;
};

}  // namespace coz::accuracy

#endif  // COZ_BENCH_ACCURACY_PROGRAM_RUN_H_
