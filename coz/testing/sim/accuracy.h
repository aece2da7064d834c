// Compares what the profiler predicts of a simulated program with what really happens when a line
// is made faster.
//
// Shape    functions of a program, a machine, a line and a speedup; each call is a run of its own
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

// A random program with a line that it uses, and a speedup of 25, 50 or 75 %. With `threads`: as
// many programs side by side as make that many.
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

// Of point 0, over `duration_ns`, without a profiler, with the question's line made faster by
// `faster_by`: ns per visit; where it is a latency pair, ns that a request is in flight.
double RealCost(const Program& program, const MachineOptions& machine, const Question& question,
                double faster_by);

// Runs the scheduler on the program until `end_ns`. Each experiment goes into the result.
std::vector<experiment::ExperimentRecord> RunExperiments(
    const Program& program, const MachineOptions& machine,
    const experiment::SchedulerOptions& options, uint64_t warmup_ns, uint64_t end_ns);

// What RealCost has found for one program on one machine over one duration, by line and by how much
// faster that is. The sampling period and the rules of delays make no difference to it.
using KnownCosts = std::map<std::pair<experiment::UnitId, double>, double>;

// Truth from two runs without a profiler; prediction from one long experiment of the scheduler
// against the unprofiled rate, so that the difference is that of the virtual speedup and not of the
// baseline's noise.
//
// Questions of the same program, machine and duration may share `known`: what the truth of one has
// found, the next does not run again.
Answer Ask(const Program& program, const MachineOptions& machine, const Question& question,
           KnownCosts* known = nullptr);

}  // namespace coz::sim

#endif  // COZ_TESTING_SIM_ACCURACY_H_
