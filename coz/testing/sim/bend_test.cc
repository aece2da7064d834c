// Whether a profile says where a line's curve bends, and only where it is known. bend_report.cc
// prints the same figures for other lengths and noises.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "coz/base/clock.h"
#include "coz/testing/sim/bend_coverage.h"
#include "gtest/gtest.h"

namespace coz::sim {
namespace {

constexpr int kProfiles = 200;

std::vector<BendCoverage> CoverageOfMany(const KnownProgram& known, uint64_t seconds,
                                         int profiles = kProfiles) {
  std::vector<BendCoverage> coverage(known.lines.size());
  BendProfile wanted;
  wanted.profile_ns = seconds * kNsPerSecond;
  for (int i = 0; i < profiles; ++i, ++wanted.seed) {
    const std::vector<BendCoverage> one = CoverageOfBends(known, wanted);
    for (size_t line = 0; line < coverage.size(); ++line) coverage[line].Add(one[line]);
  }
  return coverage;
}

void ExpectStraight(const BendCoverage& coverage) {
  EXPECT_GE(coverage.curves, kProfiles * 9 / 10);
  EXPECT_LE(coverage.bent, coverage.curves / 20);
  EXPECT_LE(coverage.placed, coverage.curves / 50);
}

// Returns what it has looked at.
std::vector<BendCoverage> ExpectTrueBends(const KnownProgram& known, uint64_t seconds,
                                          int profiles = kProfiles) {
  std::vector<BendCoverage> coverage = CoverageOfMany(known, seconds, profiles);
  for (size_t line = 0; line < coverage.size(); ++line) {
    SCOPED_TRACE(known.lines[line].name);
    const BendCoverage& of_line = coverage[line];
    if (known.lines[line].bend == 0) {
      ExpectStraight(of_line);
      continue;
    }
    EXPECT_GE(of_line.bent, profiles / 4);
    EXPECT_GE(of_line.held, of_line.bent * 93 / 100) << of_line.held << " of " << of_line.bent;
  }
  return coverage;
}

// Of short profiles few see the bend of the first line, so more of them are asked.
TEST(BendTest, IntervalsOfShortProfilesHoldTheTruePlace) {
  ExpectTrueBends(DemoProgram(), 20, 2 * kProfiles);
}

TEST(BendTest, IntervalsOfLongerProfilesHoldTheTruePlaceAndSayIt) {
  const BendCoverage decode = ExpectTrueBends(DemoProgram(), 60)[1];
  EXPECT_GE(decode.placed, kProfiles * 3 / 4);
  EXPECT_GE(decode.right, decode.placed * 93 / 100) << decode.right << " of " << decode.placed;
}

TEST(BendTest, StraightCurvesAreSeldomBent) {
  for (const BendCoverage& coverage : CoverageOfMany(StraightProgram(), 20)) {
    ExpectStraight(coverage);
  }
}

}  // namespace
}  // namespace coz::sim
