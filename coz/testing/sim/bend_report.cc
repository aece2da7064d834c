// Prints how often the places of bends in simulated profiles hold the true ones, and how often a
// straight curve gets a bend. Usage: ./bazelw run -c opt //coz/testing/sim:bend_report --
// [profiles=200] [seconds=20] [noise_permille=30] [seed=1]
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "coz/base/clock.h"
#include "coz/testing/sim/arguments.h"
#include "coz/testing/sim/bend_coverage.h"

namespace coz::sim {
namespace {

void Print(const KnownLine& line, BendCoverage coverage) {
  double median = 0;
  if (!coverage.widths.empty()) {
    const auto middle =
        coverage.widths.begin() + static_cast<std::ptrdiff_t>(coverage.widths.size() / 2);
    std::nth_element(coverage.widths.begin(), middle, coverage.widths.end());
    median = *middle;
  }
  std::printf("%-9s %4.0f %%  %6d  %6d  %6d  %6.0f points  %6d  %6d\n", line.name.c_str(),
              100 * line.bend, coverage.curves, coverage.bent, coverage.held, 100 * median,
              coverage.placed, coverage.right);
}

void PrintProgram(const KnownProgram& known, BendProfile wanted, uint64_t profiles) {
  std::vector<BendCoverage> all(known.lines.size());
  for (uint64_t i = 0; i < profiles; ++i, ++wanted.seed) {
    const std::vector<BendCoverage> one = CoverageOfBends(known, wanted);
    for (size_t line = 0; line < all.size(); ++line) all[line].Add(one[line]);
  }
  for (size_t line = 0; line < all.size(); ++line) Print(known.lines[line], all[line]);
}

int Report(int argc, char** argv) {
  BendProfile wanted;
  wanted.profile_ns = Argument(argc, argv, "seconds", 20) * kNsPerSecond;
  wanted.noise = static_cast<double>(Argument(argc, argv, "noise_permille", 30)) / 1000;
  wanted.seed = Argument(argc, argv, "seed", 1);
  const uint64_t profiles = Argument(argc, argv, "profiles", 200);
  std::printf("line      bends   curves    bent    held   median width  placed   right\n");
  PrintProgram(DemoProgram(), wanted, profiles);
  PrintProgram(StraightProgram(), wanted, profiles);
  return 0;
}

}  // namespace
}  // namespace coz::sim

int main(int argc, char** argv) { return coz::sim::Report(argc, argv); }
