// Whether the intervals of ordinary profiles hold what really happens: random programs, profiled by
// the real scheduler with the lengths that it chooses, analysed as coz report does.
// coverage_report.cc prints the same figures for more programs.
#include <cstdint>
#include <string>

#include "coz/base/clock.h"
#include "coz/experiment/options.h"
#include "coz/testing/sim/accuracy.h"
#include "coz/testing/sim/random_program.h"
#include "coz/testing/sim/simulated_profile.h"
#include "gtest/gtest.h"

namespace coz::sim {
namespace {

struct Sort {
  uint64_t parts;    // into which all times are divided
  uint32_t threads;  // at least; 0: those of one program
  bool one_line;     // at three speedups; else all lines and speedups, as coz run draws them
  uint64_t programs_per_kind;
  uint64_t seconds;
};

CoverageOfProfile CoverageOfSort(const Sort& sort) {
  CoverageOfProfile coverage;
  for (int index = 0; index < kKinds; ++index) {
    const Kind kind = static_cast<Kind>(index);
    if (!PredictionIsExact(kind)) continue;
    for (uint64_t seed = 1; seed <= sort.programs_per_kind; ++seed) {
      RandomQuestion drawn = DrawQuestion(kind, seed, sort.threads);
      DivideTimes(drawn.program, sort.parts);
      MachineOptions machine;
      machine.seed = seed;
      experiment::SchedulerOptions options;
      options.seed = seed;
      if (sort.one_line) {
        options.fixed_units = {drawn.question.line};
        options.fixed_speedups = {0, 0.25, 0.5, 0.75};
      }
      const uint64_t warmup_ns = drawn.question.warmup_ns;
      const profile::Profile profile = ProfileOf(drawn.program, machine, options, warmup_ns,
                                                 warmup_ns + sort.seconds * kNsPerSecond);
      coverage.Add(CoverageOf(profile, drawn.program, machine, 120 * kNsPerSecond / sort.parts));
    }
  }
  return coverage;
}

class CoverageTest : public ::testing::Test {
 protected:
  void Expect(const Coverage& coverage, int least_figures, double largest_half_width) {
    ASSERT_GT(coverage.all(), least_figures);
    RecordProperty("held", coverage.held());
    RecordProperty("of", coverage.all());
    RecordProperty("median_half_width", std::to_string(coverage.MedianHalfWidth()));
    EXPECT_GE(coverage.Share(), 0.93);
    // Nor is that because intervals say nothing.
    EXPECT_LT(coverage.MedianHalfWidth(), largest_half_width);
  }
};

// Rounds take tens of milliseconds, so that experiments have some ten visits, and queues between
// threads fill or drain meanwhile.
TEST_F(CoverageTest, IntervalsOfSlowProgramsHoldTheTruth) {
  Expect(CoverageOfSort({1, 0, true, 5, 60}).whole, 100, 0.08);
}

// Some hundred visits in half a second, so that experiments are short.
TEST_F(CoverageTest, IntervalsOfShortExperimentsHoldTheTruth) {
  Expect(CoverageOfSort({5, 16, true, 2, 60}).whole, 40, 0.02);
}

TEST_F(CoverageTest, IntervalsOfAllLinesHoldTheTruth) {
  const CoverageOfProfile coverage = CoverageOfSort({5, 16, false, 2, 30});
  Expect(coverage.whole, 100, 0.065);
  // Threads that do something else beside make lines' shares of samples rise with the speed. That
  // is no phase, and takes nothing off their effects.
  EXPECT_GT(coverage.whole.MeanError(), -0.01);
  EXPECT_LE(coverage.corrected_for_phases, 3) << "by chance";
}

}  // namespace
}  // namespace coz::sim
