// Whether the intervals of ordinary profiles hold what really happens: random programs, profiled by
// the real scheduler with the lengths that it chooses, analysed as coz report does.
// coverage_report.cc prints the same figures for more programs.
#include <cstdint>
#include <string>

#include "coz/base/clock.h"
#include "coz/testing/sim/random_program.h"
#include "coz/testing/sim/simulated_profile.h"
#include "coz/testing/sim/simulator.h"
#include "gtest/gtest.h"

namespace coz::sim {
namespace {

CoverageOfProfile CoverageOfAllKinds(const RandomProfile& wanted, uint64_t programs_per_kind,
                                     const MachineOptions& machine = {}) {
  CoverageOfProfile coverage;
  for (int index = 0; index < kKinds; ++index) {
    const Kind kind = static_cast<Kind>(index);
    if (!PredictionIsExact(kind)) continue;
    for (uint64_t seed = 1; seed <= programs_per_kind; ++seed) {
      coverage.Add(CoverageOfRandomProgram(kind, seed, wanted, machine));
    }
  }
  return coverage;
}

class CoverageTest : public ::testing::Test {
 protected:
  // Some hundred visits in half a second, so that experiments are short.
  static RandomProfile Fast() {
    RandomProfile fast;
    fast.parts = 5;
    fast.threads = 16;
    fast.profile_ns = 30 * kNsPerSecond;
    fast.truth_ns = 24 * kNsPerSecond;
    return fast;
  }
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
  RandomProfile slow;
  slow.one_line = true;
  Expect(CoverageOfAllKinds(slow, 5).whole, 100, 0.08);
}

TEST_F(CoverageTest, IntervalsOfShortExperimentsHoldTheTruth) {
  RandomProfile fast = Fast();
  fast.one_line = true;
  fast.profile_ns = 60 * kNsPerSecond;
  Expect(CoverageOfAllKinds(fast, 2).whole, 40, 0.02);
}

TEST_F(CoverageTest, IntervalsOfAllLinesHoldTheTruth) {
  const CoverageOfProfile coverage = CoverageOfAllKinds(Fast(), 2);
  Expect(coverage.whole, 100, 0.065);
  // Threads that do something else beside make lines' shares of samples rise with the speed. That
  // is no phase, and takes nothing off their effects.
  EXPECT_GT(coverage.whole.MeanError(), -0.01);
  EXPECT_LE(coverage.corrected_for_phases, 3) << "by chance";
  EXPECT_GT(coverage.limited, 100);
  EXPECT_EQ(coverage.above_limit, 0);
}

// Threads that are queued for their CPU gain more than the CPU time that they save.
TEST_F(CoverageTest, GainsOfACrowdStayBelowTheirLimits) {
  RandomProfile crowd;
  MachineOptions two_cpus;
  two_cpus.cpus = 2;
  const CoverageOfProfile coverage = CoverageOfAllKinds(crowd, 6, two_cpus);
  EXPECT_GT(coverage.limited, 100);
  // A limit takes it that as many threads stay queued, which a faster line changes.
  EXPECT_LE(coverage.above_limit, coverage.limited / 100);
}

}  // namespace
}  // namespace coz::sim
