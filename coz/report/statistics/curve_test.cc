#include "coz/report/statistics/curve.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "coz/report/statistics/statistics.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

// As the scheduler makes them: a baseline in every four, the others 5 %, 10 % … 100 %.
std::vector<RateObservation> Observe(const std::function<double(double)>& program_speedup,
                                     int experiments, double noise, std::mt19937_64* random) {
  std::normal_distribution<double> error(0, noise);
  std::uniform_int_distribution<int> twentieths(1, 20);
  std::vector<RateObservation> observations;
  for (int i = 0; i < experiments; ++i) {
    const double s = i % 4 == 0 ? 0 : twentieths(*random) * 0.05;
    const double p = (1 - program_speedup(s)) * std::exp(error(*random));
    observations.push_back({s, 1000 * p, 1000, 1});
  }
  return observations;
}

Curve Fit(const std::vector<RateObservation>& observations) {
  return FitCurve(observations, EstimateSlope(observations).value_or(SlopeEstimate{}));
}

double Plateau(double s) { return 0.5 * std::min(s, 0.6); }

TEST(CurveTest, StraightLinesAreSeldomTakenForBent) {
  std::mt19937_64 random(1);
  for (double slope : {0.0, 0.3, 0.8}) {
    int bent = 0;
    for (int i = 0; i < 500; ++i) {
      const auto line = [slope](double s) { return slope * s; };
      bent += Fit(Observe(line, 24, 0.03, &random)).bend.has_value() ? 1 : 0;
    }
    EXPECT_LE(bent, 10) << "slope " << slope;
  }
}

TEST(CurveTest, PlateauIsFoundNearItsPlace) {
  std::mt19937_64 random(2);
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    const Curve curve = Fit(Observe(Plateau, 60, 0.03, &random));
    if (!curve.bend.has_value()) continue;
    found += std::fabs(curve.bend->virtual_speedup - 0.6) <= 0.15 ? 1 : 0;
    EXPECT_NEAR(curve.bend->slope_before.value, 0.5, 0.25);
    EXPECT_LT(curve.bend->slope_after.value, 0.25);
  }
  EXPECT_GE(found, 150);
}

TEST(CurveTest, IntervalOfTheBendHoldsItsPlace) {
  std::mt19937_64 random(5);
  int bends = 0;
  int held = 0;
  double width = 0;
  for (int i = 0; i < 400; ++i) {
    const Curve curve = Fit(Observe(Plateau, 60, 0.03, &random));
    if (!curve.bend.has_value()) continue;
    ++bends;
    held += curve.bend->low <= 0.6 && 0.6 <= curve.bend->high ? 1 : 0;
    width += curve.bend->high - curve.bend->low;
  }
  EXPECT_GE(held, bends * 93 / 100) << held << " of " << bends;
  // Nor is that because the interval says nothing.
  EXPECT_LT(width / bends, 0.35);
}

TEST(CurveTest, BendThatMayLieBeforeAllSpeedupsIsOpenThere) {
  // Nothing at all after the first three speedups, whose own rise is not to be told from a jump.
  std::vector<RateObservation> observations;
  for (int i = 0; i < 60; ++i) {
    const double s = i % 4 == 0 ? 0 : 0.05 * (1 + i % 20);
    observations.push_back({s, s == 0 ? 1000.0 : 700.0 + i % 3, 1000, 1});
  }
  const Curve curve = Fit(observations);
  ASSERT_TRUE(curve.bend.has_value());
  EXPECT_EQ(curve.bend->low, 0);
  EXPECT_LT(curve.bend->high, 0.3);
}

TEST(CurveTest, BandOfABentCurveHoldsTheTruth) {
  std::mt19937_64 random(3);
  int curves = 0;
  int held = 0;
  for (int i = 0; i < 400; ++i) {
    const Curve curve = Fit(Observe(Plateau, 60, 0.03, &random));
    if (!curve.bend.has_value()) continue;
    ++curves;
    const Estimate at = curve.At(0.3);
    held += at.low <= Plateau(0.3) && Plateau(0.3) <= at.high ? 1 : 0;
  }
  EXPECT_GE(held, curves * 93 / 100) << held << " of " << curves;
}

// Share of 95 % intervals that hold the truth at 30 %, and their mean width.
struct Band {
  double held = 0;
  double width = 0;
};
Band BandAt30(const std::function<double(double)>& truth, int experiments, bool of_the_slope) {
  constexpr int kCurves = 400;
  std::mt19937_64 random(6);
  Band band;
  for (int i = 0; i < kCurves; ++i) {
    const auto observations = Observe(truth, experiments, 0.04, &random);
    const Curve curve = Fit(observations);
    const Estimate slope = *EstimateSlope(observations);
    const Estimate at = of_the_slope
                            ? Estimate{0.3 * slope.value, 0.3 * slope.low, 0.3 * slope.high}
                            : curve.At(0.3);
    if (at.low <= truth(0.3) && truth(0.3) <= at.high) band.held += 1.0 / kCurves;
    band.width += (at.high - at.low) / kCurves;
  }
  return band;
}

TEST(CurveTest, BendThatIsNotProvenIsInTheBand) {
  const auto bent = [](double s) { return 0.6 * std::min(s, 0.5); };
  EXPECT_GE(BandAt30(bent, 24, false).held, 0.8);
  EXPECT_LE(BandAt30(bent, 24, true).held, 0.4) << "as if all were straight";
}

// The price of the doubt, and no higher.
TEST(CurveTest, StraightLinesHaveLittleWiderBands) {
  constexpr double kMostWider = 1.4;
  const auto straight = [](double s) { return 0.4 * s; };
  for (const int experiments : {9, 12, 24, 48}) {
    const Band band = BandAt30(straight, experiments, false);
    EXPECT_GE(band.held, 0.93) << experiments;
    EXPECT_LE(band.width, kMostWider * BandAt30(straight, experiments, true).width) << experiments;
  }
}

TEST(CurveTest, StraightCurveIsTheWedgeOfItsSlope) {
  std::mt19937_64 random(4);
  const auto observations = Observe([](double s) { return 0.4 * s; }, 40, 0.01, &random);
  const Estimate slope = *EstimateSlope(observations);
  const Curve curve = FitCurve(observations, slope);
  ASSERT_FALSE(curve.bend.has_value());
  EXPECT_EQ(curve.points.front().virtual_speedup, 0);
  EXPECT_EQ(curve.points.front().program_speedup.high, 0);
  EXPECT_DOUBLE_EQ(curve.points.back().program_speedup.low, slope.low);
  EXPECT_NEAR(curve.At(0.33).value, slope.value * 0.33, 1e-12);
}

TEST(CurveTest, BendGoesOnBeyondTheLargestSpeedupAsItEnds) {
  const Curve curve = {{{0, {0, 0, 0}}, {0.5, {0.4, 0.3, 0.5}}, {0.6, {0.42, 0.32, 0.52}}}, {}, 0};
  const Estimate at = curve.At(0.9);
  EXPECT_NEAR(at.value, 0.48, 1e-12);
  // Of 0.1 at 0.6.
  EXPECT_NEAR(at.low, 0.48 - 0.15, 1e-12);
  EXPECT_NEAR(at.high, 0.48 + 0.15, 1e-12);
}

TEST(CurveTest, BoundsThatDivergeGoOnToDiverge) {
  const Curve curve = {{{0, {0, 0, 0}}, {0.5, {0.4, 0.3, 0.5}}, {0.6, {0.4, 0.2, 0.5}}}, {}, 0};
  EXPECT_NEAR(curve.At(0.8).low, 0, 1e-12);
}

TEST(CurveTest, UnknownBoundsStayUnknownBetweenPointsAndBeyond) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const Curve curve = {
      {{0, {0, 0, 0}}, {0.5, {0.4, -kUnknown, kUnknown}}, {0.6, {0.48, -kUnknown, kUnknown}}},
      {},
      0};
  for (const double speedup : {0.55, 0.9}) {
    EXPECT_EQ(curve.At(speedup).low, -kUnknown);
    EXPECT_EQ(curve.At(speedup).high, kUnknown);
  }
}

TEST(CurveTest, EndsAtTheLargestSpeedupTried) {
  const Curve curve =
      FitCurve({{0, 1000, 1000, 1}, {0.25, 900, 1000, 1}, {0.12, 950, 1000, 1}}, {0.4, 0.3, 0.5});
  EXPECT_DOUBLE_EQ(curve.points.back().virtual_speedup, 0.25);
  EXPECT_DOUBLE_EQ(curve.LargestSpeedup(), 0.25);
  EXPECT_NEAR(curve.At(0.9).value, 0.4 * 0.9, 1e-12);
  EXPECT_NEAR(curve.At(0.9).low, 0.3 * 0.9, 1e-12);
  EXPECT_NEAR(curve.At(0.9).high, 0.5 * 0.9, 1e-12);
}

TEST(CurveTest, AchievedSpeedupsOfACorruptProfileDoNoHarm) {
  std::mt19937_64 random(7);
  std::vector<RateObservation> observations = Observe(Plateau, 60, 0.01, &random);
  for (RateObservation& o : observations) {
    o.achieved_virtual_speedup = o.virtual_speedup > 0.9 ? 1e12 : o.virtual_speedup;
  }
  EXPECT_FALSE(Fit(observations).points.empty());
}

TEST(CurveTest, BaselinesAloneHaveNoCurve) {
  EXPECT_TRUE(FitCurve({{0, 1000, 1000, 1}}, {}).points.empty());
  EXPECT_EQ(Curve().At(0.5).value, 0);
}

}  // namespace
}  // namespace coz::report
