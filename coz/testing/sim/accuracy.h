// Compares what the profiler predicts for a simulated program with what really happens when a line
// is made faster.
//
// Shape    functions of a program, a machine, a line and a speedup; each call makes its own runs
// Units    program speedups as fractions: 1 - period with / period without
// Errors   a program that makes no progress gives NaN
// Threads  safe
// Signals  none
// Source   docs/testing.md, "The simulator"
#ifndef COZ_TESTING_SIM_ACCURACY_H_
#define COZ_TESTING_SIM_ACCURACY_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "coz/base/clock.h"
#include "coz/experiment/options.h"
#include "coz/experiment/record.h"
#include "coz/testing/sim/program.h"
#include "coz/testing/sim/random_program.h"
#include "coz/testing/sim/simulator.h"

namespace coz::sim {

struct Question {
  experiment::UnitId line = 0;
  double speedup = 0;
  uint64_t warmup_ns = 2 * kNsPerSecond;
  uint64_t duration_ns = 60 * kNsPerSecond;
  uint64_t sampling_period_ns = kNsPerMs;
};

// A random program with a line that it uses, and a speedup of 25, 50 or 75 %. With `threads`,
// enough such programs side by side to have that many threads.
struct RandomQuestion {
  Program program;
  Question question;
};
RandomQuestion DrawQuestion(Kind kind, uint64_t seed, uint32_t threads = 0);

struct Answer {
  double real = 0;
  double predicted = 0;
  double line_share = 0;  // CPU time in the line per elapsed time, without a profiler
  experiment::ExperimentRecord experiment;
  double error() const { return predicted - real; }
};

// The cost at point 0 without a profiler, over the question's `duration_ns`, with its line made
// faster by `faster_by`. In ns per visit; for a latency point, in ns for which a request is in
// flight.
double RealCost(const Program& program, const MachineOptions& machine, const Question& question,
                double faster_by);

struct SimulatedExperiment {
  experiment::ExperimentRecord record;
  std::vector<uint64_t> line_samples;  // in it, by line
};

// Runs the scheduler on the program until `end_ns` and returns all experiments.
std::vector<SimulatedExperiment> RunSimulatedExperiments(
    const Program& program, const MachineOptions& machine,
    const experiment::SchedulerOptions& options, uint64_t warmup_ns, uint64_t end_ns);
std::vector<experiment::ExperimentRecord> RunExperiments(
    const Program& program, const MachineOptions& machine,
    const experiment::SchedulerOptions& options, uint64_t warmup_ns, uint64_t end_ns);

// The results of RealCost for one program on one machine over one duration, by line and by speedup
// of that line. The sampling period and the rules of delays do not change them.
using KnownCosts = std::map<std::pair<experiment::UnitId, double>, double>;

// Answers a question. The truth comes from two runs without a profiler. The prediction comes from
// one long experiment of the scheduler, compared with the rate without a profiler. So the error is
// that of the virtual speedup and not noise of the baseline.
//
// Questions about the same program, machine and duration may share `known`. A run whose result it
// has is not made again.
Answer Ask(const Program& program, const MachineOptions& machine, const Question& question,
           KnownCosts* known = nullptr);

// How much of the program's time a delay takes that all threads owe alike, by the delay's own
// time: 1 where pauses and credit are right. Each sample imposes `share` of a period. For a program
// whose point 0 counts visits.
double ControlFactor(const Program& program, const MachineOptions& machine,
                     const Question& question, double share);

}  // namespace coz::sim

#endif  // COZ_TESTING_SIM_ACCURACY_H_
