#include "coz/report/wording/headline.h"

#include <limits>
#include <string>

#include "coz/report/analysis/analysis.h"
#include "coz/report/statistics/curve.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

// A curve through 0 with the slope `before` up to `bend`, and `after` beyond; ±1 point everywhere.
LineAnalysis Line(double before, double bend, double after) {
  LineAnalysis line;
  for (int i = 0; i <= 20; ++i) {
    const double s = 0.05 * i;
    const double value = s <= bend ? before * s : before * bend + after * (s - bend);
    line.curve.points.push_back({s, {value, value - 0.01, value + 0.01}});
  }
  line.slope = {line.curve.points.back().program_speedup.value, 0, 0};
  line.verdict = Verdict::kFaster;
  if (bend < 1) {
    line.curve.bend = Bend{bend,
                           bend - 0.05,
                           bend + 0.05,
                           {before, before - 0.02, before + 0.02},
                           {after, after - 0.05, after + 0.05}};
  } else {
    line.slope = {before, before - 0.02, before + 0.02};
  }
  return line;
}

TEST(HeadlineTest, WhereTheCurveBendsTheHeadlineIsTheCurve) {
  EXPECT_EQ(HeadlineText(Line(0.6, 0.5, 0)),
            "30 % faster: +18 % (17 to 19), nothing more beyond 50 %");
}

TEST(HeadlineTest, TheSlopeIsSaidOfStraightCurvesAlone) {
  EXPECT_EQ(HeadlineText(Line(0.5, 1, 0)), "30 % faster: +15 % (14 to 16), slope 0.50 ±0.02");
  EXPECT_EQ(HeadlineText(Line(-0.001, 1, 0)), "30 % faster: 0 % (-1 to 1), slope 0.00 ±0.02");
}

TEST(HeadlineTest, WhatComesBeyondABendIsSaidOfAllKinds) {
  EXPECT_EQ(ShapeText(Line(0.6, 0.5, -0.4)), "partly lost again beyond 50 %");
  EXPECT_EQ(ShapeText(Line(0.6, 0.5, 0.3)), "smaller gain beyond 50 %");
  EXPECT_EQ(ShapeText(Line(0.6, 0.5, 0.08)), "hardly more beyond 50 %");
  EXPECT_EQ(ShapeText(Line(0.2, 0.5, 0.9)), "larger gain beyond 50 %");
  EXPECT_EQ(ShapeText(Line(-0.2, 0.5, -0.9)), "hurts beyond 50 %");
}

TEST(HeadlineTest, ABendBeforeTheSpeedupOfAllLinesIsShownItself) {
  const LineAnalysis early = Line(0.6, 0.2, -0.5);
  EXPECT_EQ(HeadlineText(early), "20 % faster: +12 % (11 to 13), partly lost again beyond 20 %");
  EXPECT_EQ(GainText(HeadlineOf(early)), "+12 % (11 to 13) at 20 %");
}

LineAnalysis LineWithBendBetween(double low, double high, double after = 0) {
  LineAnalysis line = Line(0.6, 0.5, after);
  line.curve.bend->low = low;
  line.curve.bend->high = high;
  return line;
}

TEST(HeadlineTest, APlaceThatIsKnownLessWellIsARange) {
  EXPECT_EQ(HeadlineText(LineWithBendBetween(0.32, 0.58)),
            "30 % faster: +18 % (17 to 19), gains less beyond about 30 to 60 %");
  EXPECT_EQ(ShapeText(LineWithBendBetween(0.30, 0.60, -0.4)),
            "partly lost again beyond about 30 to 60 %");
}

TEST(HeadlineTest, APlaceThatIsNotKnownIsNotNamed) {
  EXPECT_EQ(HeadlineText(LineWithBendBetween(0.25, 0.75)),
            "30 % faster: +18 % (17 to 19), at 100 %: +30 % (29 to 31)");
  // It may lie outside of what was tried.
  EXPECT_EQ(ShapeText(LineWithBendBetween(0, 0.4)), "at 100 %: +30 % (29 to 31)");
  EXPECT_EQ(ShapeText(LineWithBendBetween(0.7, 1)), "at 100 %: +30 % (29 to 31)");
}

// A gain at 30 %, though it is said to be slower: the end is quoted.
TEST(HeadlineTest, TheEndIsNotSaidTwice) {
  LineAnalysis line = LineWithBendBetween(0.25, 0.75, -1.6);
  line.verdict = Verdict::kSlower;
  EXPECT_EQ(HeadlineText(line), "100 % faster: -50 % (-51 to -49), its way there is hardly known");
  EXPECT_EQ(HeadlineOf(line).beyond, "its way there is hardly known");
}

TEST(HeadlineTest, ThePlaceOfABendIsSaidAsFarAsItIsKnown) {
  EXPECT_EQ(PlaceOfBend(Line(0.6, 0.5, 0).curve), "50 % (45 to 55)");
  EXPECT_EQ(PlaceOfBend(LineWithBendBetween(0.32, 0.58).curve), "30 to 60 %");
  EXPECT_EQ(PlaceOfBend(LineWithBendBetween(0, 0.4).curve), "not known");
}

TEST(HeadlineTest, ABendThatMayComeLaterDoesNotChangeTheSpeedupThatIsQuoted) {
  LineAnalysis line = Line(0.6, 0.2, 0);
  line.curve.bend->low = 0.1;
  line.curve.bend->high = 0.4;
  EXPECT_EQ(GainText(HeadlineOf(line)), "+12 % (11 to 13)");
}

TEST(HeadlineTest, SmallGainsHaveTheirSign) {
  EXPECT_EQ(GainText(HeadlineOf(Line(0.02, 1, 0))), "+0.6 % (-0.4 to 2)");
  EXPECT_EQ(GainText(HeadlineOf(Line(0.001, 1, 0))), "0 % (-1 to 1)");
}

// The curve falls at first, and its slope over all is a gain.
TEST(HeadlineTest, ASlopeThatContradictsTheGainIsNotSaid) {
  LineAnalysis line = Line(-0.06, 1, 0);
  line.slope = {0.01, -0.5, 0.5};
  line.curve.points.back().program_speedup = {0.04, -0.3, 0.4};
  EXPECT_EQ(HeadlineText(line), "30 % faster: -2 % (-3 to -0.8), at 100 %: +4 % (-30 to 40)");
}

TEST(HeadlineTest, ALineThatWasTriedLessFarSaysHowFar) {
  LineAnalysis line = Line(0.5, 1, 0);
  line.curve.points.resize(5);
  EXPECT_EQ(GainText(HeadlineOf(line)), "+10 % (9 to 11) at 20 %");
}

TEST(HeadlineTest, WithoutACurveTheSlopeTells) {
  LineAnalysis line;
  line.slope = line.statistical_slope = {0.5, 0.4, 0.6};
  EXPECT_EQ(HeadlineText(line), "30 % faster: +15 % (12 to 18), slope 0.50 ±0.10");
  line.slope.low = line.statistical_slope.low = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(HeadlineText(line), "30 % faster: +15 %, slope 0.50 ±?");
}

}  // namespace
}  // namespace coz::report
