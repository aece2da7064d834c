// The profile of a simulated program, as coz run writes it, and how often its intervals hold what
// really happens.
//
// Shape    a program and options in; a profile out. Coverage adds up over programs
// Units    ns of simulated time; program speedups as fractions
// Errors   a line that the profile has no figure for adds nothing
// Threads  compatible
// Signals  none
// Source   docs/design/statistics.md, "Coverage"
#ifndef COZ_TESTING_SIM_SIMULATED_PROFILE_H_
#define COZ_TESTING_SIM_SIMULATED_PROFILE_H_

#include <cstdint>
#include <vector>

#include "coz/base/clock.h"
#include "coz/experiment/options.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/statistics/statistics.h"
#include "coz/testing/sim/accuracy.h"
#include "coz/testing/sim/program.h"
#include "coz/testing/sim/random_program.h"
#include "coz/testing/sim/simulator.h"

namespace coz::sim {

// Of one session. The unit of line L has the number L + 1, and point 0 has the number 1.
profile::Profile ProfileOf(const Program& program, const MachineOptions& machine,
                           const experiment::SchedulerOptions& options, uint64_t warmup_ns,
                           uint64_t end_ns);

// Intervals of program speedups, and how many of them hold the truth.
class Coverage {
 public:
  void Add(const report::Estimate& estimate, double truth);
  void Add(const Coverage& other);

  int held() const { return held_; }
  int all() const { return static_cast<int>(half_widths_.size()); }
  double Share() const { return static_cast<double>(held_) / static_cast<double>(all()); }
  double MedianHalfWidth() const;
  // Of figures less truths.
  double MeanError() const;

 private:
  int held_ = 0;
  double errors_ = 0;
  std::vector<double> half_widths_;
};

struct CoverageOfProfile {
  Coverage whole;   // the intervals that a report shows
  Coverage chance;  // the same without what is systematic
  Coverage curve;   // the whole ones of curves, at the same speedups
  // How many lines' figures were corrected for phases. The simulator's programs have none.
  int corrected_for_phases = 0;
  // Real gains of lines whose gain has a limit by samples, and those of them above it by more than
  // half a point.
  int limited = 0;
  int above_limit = 0;

  void Add(const CoverageOfProfile& other);
};

// Looks at each line of the profile at the virtual speedups 25, 50 and 75 %. The truth is from runs
// of `truth_ns` without a profiler.
CoverageOfProfile CoverageOf(const profile::Profile& profile, const Program& program,
                             const MachineOptions& machine, uint64_t truth_ns);

// What is profiled of a random program.
struct RandomProfile {
  uint64_t parts = 1;     // into which all times of the program are divided
  uint32_t threads = 0;   // at least, of as many programs side by side; 0: of one program
  bool one_line = false;  // at 0, 25, 50 and 75 %; else all lines and speedups, as in coz run
  uint64_t profile_ns = 60 * kNsPerSecond;
  uint64_t truth_ns = 120 * kNsPerSecond;
};

// The same of a random program of this kind and seed. `machine` and `options` get the seed.
CoverageOfProfile CoverageOfRandomProgram(Kind kind, uint64_t seed, const RandomProfile& wanted,
                                          MachineOptions machine = {},
                                          experiment::SchedulerOptions options = {});

}  // namespace coz::sim

#endif  // COZ_TESTING_SIM_SIMULATED_PROFILE_H_
