// How often the places of bends in simulated profiles hold the true ones, and how often a straight
// curve gets a bend.
//
// Shape    a program whose answer is known and what is profiled of it in; counts out
// Units    ns of simulated time; speedups as fractions
// Errors   a line that the profile has no figure for adds nothing
// Threads  compatible
// Signals  none
// Source   docs/design/statistics.md, "Curves"
#ifndef COZ_TESTING_SIM_BEND_COVERAGE_H_
#define COZ_TESTING_SIM_BEND_COVERAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "coz/base/clock.h"
#include "coz/testing/sim/program.h"

namespace coz::sim {

struct KnownLine {
  std::string name;
  double bend = 0;  // 0: straight
};

// A program whose lines' curves follow from its text.
struct KnownProgram {
  Program program;
  std::vector<KnownLine> lines;  // by number
};

// examples/pipeline.cc: two lines that bend, and one that brings nothing.
KnownProgram DemoProgram();
// One thread: its lines bring their shares of the time, at every speedup.
KnownProgram StraightProgram();

struct BendProfile {
  uint64_t profile_ns = 20 * kNsPerSecond;
  // Experiments of a real machine differ by this share of their duration.
  double noise = 0.03;
  uint64_t seed = 1;
};

struct BendCoverage {
  int curves = 0;
  int bent = 0;    // of these, with a bend
  int held = 0;    // of these, with the true place in the interval
  int placed = 0;  // of those with a bend, whose place is known and printed
  int right = 0;   // of these, with the true place in the interval
  std::vector<double> widths;

  void Add(const BendCoverage& other);
};

// By line of the program.
std::vector<BendCoverage> CoverageOfBends(const KnownProgram& known, const BendProfile& wanted);

}  // namespace coz::sim

#endif  // COZ_TESTING_SIM_BEND_COVERAGE_H_
