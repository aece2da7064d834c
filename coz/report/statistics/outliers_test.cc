#include "coz/report/statistics/outliers.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Forty baselines and ten experiments at each of three speedups, in four blocks between which the
// level doubles; a line whose effect ends at 50 %.
std::vector<RateObservation> Simulate(std::mt19937_64* random, double noise) {
  std::normal_distribution<double> gauss(0, noise);
  std::vector<RateObservation> result;
  for (int i = 0; i < 70; ++i) {
    const double s = i % 7 < 4 ? 0 : (i % 7 - 3) * 0.25;
    const int block = i * 4 / 70;
    const double level = 1000 * std::pow(2, block / 3.0);
    const double visits = 500;
    const double elapsed =
        (level * (1 - std::min(s, 0.5)) + s * level) * visits * std::exp(gauss(*random));
    const double duration = elapsed - s * level * visits;
    result.push_back({s, duration, visits, 1, -1, block, elapsed});
  }
  return result;
}

void Slow(RateObservation* o, double factor) {
  const double more = o->elapsed * (factor - 1);
  o->elapsed += more;
  o->duration += more;
}

TEST(OutliersTest, FindsWhatAHiccupHasMadeLonger) {
  std::mt19937_64 random(1);
  std::vector<RateObservation> observations = Simulate(&random, 0.01);
  EXPECT_THAT(FindOutliers(observations), IsEmpty());
  Slow(&observations[7], 1.2);   // a baseline
  Slow(&observations[20], 1.3);  // at 75 %
  Slow(&observations[33], 0.8);
  EXPECT_THAT(FindOutliers(observations), ElementsAre(7, 20, 33));
}

TEST(OutliersTest, LessThanATwentiethIsNoneHoweverQuietTheOthersAre) {
  std::mt19937_64 random(2);
  std::vector<RateObservation> observations = Simulate(&random, 0.0001);
  Slow(&observations[7], 1.04);
  EXPECT_THAT(FindOutliers(observations), IsEmpty());
  Slow(&observations[7], 1.04);
  EXPECT_THAT(FindOutliers(observations), ElementsAre(7));
}

// Where an eighth or more differ, that is how the program is.
TEST(OutliersTest, WhatIsOftenSoStays) {
  std::mt19937_64 random(3);
  std::vector<RateObservation> observations = Simulate(&random, 0.01);
  for (size_t i = 0; i < 42; i += 7) Slow(&observations[i], 1.5);
  EXPECT_THAT(FindOutliers(observations), IsEmpty());
}

TEST(OutliersTest, FewExperimentsDoNotTell) {
  std::mt19937_64 random(4);
  std::vector<RateObservation> observations = Simulate(&random, 0.01);
  observations.resize(9);
  for (RateObservation& o : observations) o.block = 0;
  Slow(&observations[0], 2);
  EXPECT_THAT(FindOutliers(observations), IsEmpty());
  observations.clear();
  EXPECT_THAT(FindOutliers(observations), IsEmpty());
}

TEST(OutliersTest, OrdinaryNoiseIsNone) {
  std::mt19937_64 random(5);
  size_t all = 0;
  size_t found = 0;
  for (int round = 0; round < 1000; ++round) {
    const std::vector<RateObservation> observations = Simulate(&random, 0.03);
    all += observations.size();
    found += FindOutliers(observations).size();
  }
  EXPECT_LT(static_cast<double>(found), 1e-4 * static_cast<double>(all));
}

// As in a short run: four baselines, and one experiment at each of twenty speedups.
std::vector<RateObservation> OneOfEach(std::mt19937_64* random, double noise, double slope) {
  std::normal_distribution<double> gauss(0, noise);
  std::vector<RateObservation> result;
  for (int i = -4; i < 20; ++i) {
    const double s = i < 0 ? 0 : (i + 1) * 0.05;
    const double elapsed = 1e6 * (1 - slope * std::min(s, 0.5) + s) * std::exp(gauss(*random));
    result.push_back({s, elapsed - s * 1e6, 1000, 1, -1, 0, elapsed});
  }
  return result;
}

TEST(OutliersTest, WhereEachSpeedupIsTriedOnceItsNeighboursTell) {
  std::mt19937_64 random(7);
  std::vector<RateObservation> observations = OneOfEach(&random, 0.01, 0.6);
  EXPECT_THAT(FindOutliers(observations), IsEmpty());
  Slow(&observations[13], 1.3);  // at 50 %, where the curve bends
  EXPECT_THAT(FindOutliers(observations), ElementsAre(13));
  observations = OneOfEach(&random, 0.0001, 1);
  EXPECT_THAT(FindOutliers(observations), IsEmpty())
      << "each is unlike its neighbours, and none odd";
}

TEST(OutliersTest, OrdinaryNoiseIsNoneWhereEachSpeedupIsTriedOnce) {
  std::mt19937_64 random(8);
  size_t found = 0;
  for (int round = 0; round < 1000; ++round) {
    found += FindOutliers(OneOfEach(&random, 0.03, round % 3 * 0.4)).size();
  }
  EXPECT_LT(found, 10u) << "of 20,000";
}

// One experiment in forty is spoilt, whatever its speedup: intervals without them are narrower, and
// still hold the truth.
TEST(OutliersTest, WithoutThemIntervalsAreNarrowerAndHoldTheTruth) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> uniform;
  int holds = 0;
  int figures = 0;
  double width_with = 0;
  double width_without = 0;
  for (int round = 0; round < 1000; ++round) {
    std::vector<RateObservation> observations = Simulate(&random, 0.02);
    for (RateObservation& o : observations) {
      if (uniform(random) < 1.0 / 40) Slow(&o, 1.2 + uniform(random));
    }
    std::vector<RateObservation> kept = observations;
    const std::vector<size_t> outliers = FindOutliers(observations);
    for (auto i = outliers.rbegin(); i != outliers.rend(); ++i) {
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(*i));
    }
    for (const SpeedupEstimate& e : EstimateSpeedups(observations)) {
      width_with += e.program_speedup.high - e.program_speedup.low;
    }
    for (const SpeedupEstimate& e : EstimateSpeedups(kept)) {
      const double truth = std::min(e.virtual_speedup, 0.5);
      width_without += e.program_speedup.high - e.program_speedup.low;
      holds += e.program_speedup.low <= truth && truth <= e.program_speedup.high ? 1 : 0;
      ++figures;
    }
  }
  EXPECT_LT(width_without, 0.6 * width_with);
  const double coverage = static_cast<double>(holds) / figures;
  RecordProperty("coverage", std::to_string(coverage));
  EXPECT_GT(coverage, 0.93);
  EXPECT_LT(coverage, 0.98);
}

}  // namespace
}  // namespace coz::report
