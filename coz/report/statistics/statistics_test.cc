#include "coz/report/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace coz::report {
namespace {

struct Scenario {
  const char* name;
  int baselines;
  int others;
  double slope;
  double noise;         // relative, per experiment
  double ns_per_visit;  // of an experiment of 500: few visits make counting noise
  double share;         // of the line, which sets the delay inserted
  double noise_growth;  // noise at speedup 1 is (1 + growth) times that at 0
};

std::vector<RateObservation> Simulate(const Scenario& c, std::mt19937_64* random) {
  std::normal_distribution<double> gauss;
  std::uniform_int_distribution<int> speedup(1, 20);
  std::uniform_real_distribution<double> phase(0, 1);
  std::vector<RateObservation> result;
  for (int i = 0; i < c.baselines + c.others; ++i) {
    const double s = i < c.baselines ? 0 : speedup(*random) * 0.05;
    const double p = c.ns_per_visit * (1 - c.slope * s) *
                     std::exp(gauss(*random) * c.noise * (1 + c.noise_growth * s));
    const double delay = s * c.share * c.ns_per_visit;
    const double visits = std::max(1.0, std::floor(500 / (p + delay) + phase(*random)));
    result.push_back({s, std::max(500 - visits * delay, 1e-9), visits, 1});
  }
  return result;
}

const Scenario kScenarios[] = {
    {"usual", 4, 12, 0.5, 0.05, 1, 0.6, 0},
    {"no effect", 4, 12, 0, 0.05, 1, 0.3, 0},
    {"whole program", 4, 12, 0.9, 0.05, 1, 0.95, 0},
    {"pooled baselines", 64, 12, 0.5, 0.05, 1, 0.6, 0},
    {"very noisy", 4, 12, 0.5, 0.2, 1, 0.6, 0},
    {"noise grows with delay", 4, 12, 0.5, 0.05, 1, 0.6, 1},
    {"few visits", 4, 12, 0.5, 0.05, 20, 0.6, 0},
    {"many", 100, 300, 0.5, 0.05, 1, 0.6, 0},
    {"many, no effect", 100, 300, 0, 0.1, 1, 0.3, 0},
};

TEST(StatisticsTest, SlopeIntervalCoversTruth95PercentOfTheTime) {
  for (const Scenario& c : kScenarios) {
    std::mt19937_64 random(11);
    const int rounds = c.others > 100 ? 2000 : 4000;
    int covered = 0;
    for (int round = 0; round < rounds; ++round) {
      const auto slope = EstimateSlope(Simulate(c, &random));
      ASSERT_TRUE(slope.has_value());
      covered += slope->low <= c.slope && c.slope <= slope->high ? 1 : 0;
    }
    const double share = static_cast<double>(covered) / rounds;
    RecordProperty(c.name, std::to_string(share));
    EXPECT_GE(share, 0.93) << c.name;
    EXPECT_LE(share, 0.97) << c.name;
  }
}

TEST(StatisticsTest, SpeedupIntervalCoversTruth95PercentOfTheTime) {
  for (const Scenario& c : kScenarios) {
    std::mt19937_64 random(12);
    const int rounds = c.others > 100 ? 500 : 2000;
    int covered = 0;
    int figures = 0;
    for (int round = 0; round < rounds; ++round) {
      for (const SpeedupEstimate& e : EstimateSpeedups(Simulate(c, &random))) {
        const double truth = c.slope * e.virtual_speedup;
        covered += e.program_speedup.low <= truth && truth <= e.program_speedup.high ? 1 : 0;
        ++figures;
      }
    }
    const double share = static_cast<double>(covered) / figures;
    EXPECT_GE(share, 0.93) << c.name;
    EXPECT_LE(share, 0.97) << c.name;
  }
}

// The level doubles over the run, and bounces between blocks.
std::vector<RateObservation> Drifting(const Scenario& c, int blocks, std::mt19937_64* random) {
  std::vector<RateObservation> result = Simulate(c, random);
  std::shuffle(result.begin(), result.end(), *random);
  for (size_t i = 0; i < result.size(); ++i) {
    result[i].block = static_cast<int>(i) * blocks / static_cast<int>(result.size());
    const double time = static_cast<double>(i) / static_cast<double>(result.size());
    result[i].duration *= 1 + time + (result[i].block % 2 == 0 ? 0.5 : 0);
  }
  return result;
}

const Scenario kDriftingScenarios[] = {
    {"30 s", 8, 24, 0.5, 0.05, 1, 0.6, 0},
    {"pooled baselines", 64, 30, 0.5, 0.05, 1, 0.6, 0},
    {"many", 100, 300, 0, 0.1, 1, 0.3, 0},
    {"whole program", 40, 120, 0.9, 0.05, 1, 0.95, 0},
};

TEST(StatisticsTest, IntervalsCoverTruthOfADriftingProgram) {
  for (const Scenario& c : kDriftingScenarios) {
    std::mt19937_64 random(13);
    const int rounds = 1000;
    int covered = 0;
    int figures_covered = 0;
    int figures = 0;
    for (int round = 0; round < rounds; ++round) {
      const auto drifting = Drifting(c, c.baselines / 8, &random);
      const auto slope = EstimateSlope(drifting);
      ASSERT_TRUE(slope.has_value());
      covered += slope->low <= c.slope && c.slope <= slope->high ? 1 : 0;
      for (const SpeedupEstimate& e : EstimateSpeedups(drifting)) {
        const double truth = c.slope * e.virtual_speedup;
        figures_covered +=
            e.program_speedup.low <= truth && truth <= e.program_speedup.high ? 1 : 0;
        ++figures;
      }
    }
    const double share = static_cast<double>(covered) / rounds;
    const double figure_share = static_cast<double>(figures_covered) / figures;
    RecordProperty(c.name, std::to_string(share) + " " + std::to_string(figure_share));
    EXPECT_GE(share, 0.93) << c.name;
    EXPECT_LE(share, 0.97) << c.name;
    EXPECT_GE(figure_share, 0.93) << c.name;
    EXPECT_LE(figure_share, 0.97) << c.name;
  }
}

TEST(StatisticsTest, DriftBetweenBlocksCostsNothing) {
  std::vector<RateObservation> exact;
  for (int block = 0; block < 3; ++block) {
    for (double s : {0.0, 0.0, 0.3, 0.8}) {
      exact.push_back({s, 100 * (1 + block) * (1 - 0.7 * s), 100, 1, -1, block});
    }
  }
  EXPECT_NEAR(EstimateSlope(exact)->value, 0.7, 1e-9);
  EXPECT_NEAR(EstimateSlope(exact)->high, 0.7, 1e-6);
  EXPECT_NEAR(EstimateSpeedups(exact).at(1).program_speedup.value, 0.56, 1e-9);
  for (const RateObservation& o : WithoutDrift(exact)) {
    EXPECT_NEAR(o.duration / o.visits, 1 - 0.7 * o.virtual_speedup, 1e-9);
  }
}

TEST(StatisticsTest, BlocksWithoutBaselineAreNotUsed) {
  std::vector<RateObservation> observations;
  for (double s : {0.0, 0.0, 0.2, 0.4, 0.6}) observations.push_back({s, 100 - 50 * s, 100, 1});
  const double without = EstimateSlope(observations)->value;
  observations.push_back({0.5, 1000, 100, 1, -1, 1});
  EXPECT_NEAR(EstimateSlope(observations)->value, without, 1e-9);
  EXPECT_EQ(EstimateSpeedups(observations).size(), 3u);
}

// A baseline and one other in a block fit any line. Blocks of baselines alone tell nothing of it.
TEST(StatisticsTest, ExperimentsThatFitAnySlopeGiveNone) {
  std::vector<RateObservation> observations;
  for (const double duration : {100.0, 103.0, 98.0}) {
    observations.push_back({0, duration, 100, 1});
    observations.back().block = 1;
  }
  observations.push_back({0, 100, 100, 1});
  observations.push_back({0.5, 80, 100, 1});
  EXPECT_FALSE(EstimateSlope(observations).has_value());
  EXPECT_EQ(ComparedSpeedups(observations), 1u);
  observations.push_back({0.7, 75, 100, 1});
  EXPECT_TRUE(EstimateSlope(observations).has_value());
  EXPECT_EQ(ComparedSpeedups(observations), 2u);
  observations.back().block = 2;
  EXPECT_EQ(ComparedSpeedups(observations), 1u);
}

TEST(StatisticsTest, ExactLineGivesExactSlope) {
  std::vector<RateObservation> exact;
  for (double s : {0.0, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0})
    exact.push_back({s, 100 * (1 - 0.7 * s), 100, 1});
  const auto slope = EstimateSlope(exact);
  ASSERT_TRUE(slope.has_value());
  EXPECT_NEAR(slope->value, 0.7, 1e-9);
  EXPECT_NEAR(slope->low, 0.7, 1e-6);
  const auto speedups = EstimateSpeedups(exact);
  ASSERT_EQ(speedups.size(), 5u);
  EXPECT_NEAR(speedups[1].program_speedup.value, 0.28, 1e-9);
}

TEST(StatisticsTest, ExperimentsOfOneSpeedupArePooledBySums) {
  const std::vector<RateObservation> observations = {
      {0, 100, 100, 1}, {0, 100, 100, 1}, {0.5, 100, 100, 1}, {0.5, 100, 300, 1}};
  const auto speedups = EstimateSpeedups(observations);
  ASSERT_EQ(speedups.size(), 1u);
  EXPECT_NEAR(speedups[0].program_speedup.value, 1 - 200.0 / 400.0, 1e-12);
  EXPECT_EQ(speedups[0].experiments, 2);
}

TEST(StatisticsTest, WithoutBaselineThereIsNoAnswer) {
  const std::vector<RateObservation> observations = {
      {0.1, 1, 1, 1}, {0.2, 1, 1, 1}, {0.3, 1, 1, 1}, {0.4, 1, 1, 1}, {0.5, 1, 1, 1}};
  EXPECT_FALSE(EstimateSlope(observations).has_value());
  EXPECT_TRUE(EstimateSpeedups(observations).empty());
}

TEST(StatisticsTest, BaselineErrorWidensTheInterval) {
  std::vector<RateObservation> steady, shaky;
  for (double e : {-0.2, 0.2, -0.2, 0.2}) {
    steady.push_back({0, 100, 100, 1});
    shaky.push_back({0, 100 * (1 + e), 100, 1});
  }
  for (double s : {0.2, 0.4, 0.6, 0.8, 1.0}) {
    steady.push_back({s, 100, 100, 1});
    shaky.push_back({s, 100, 100, 1});
  }
  EXPECT_GT(EstimateSlope(shaky)->high - EstimateSlope(shaky)->low, 0.1);
  EXPECT_LT(EstimateSlope(steady)->high - EstimateSlope(steady)->low, 1e-6);
}

TEST(StatisticsTest, WeightZeroMeansNotThere) {
  std::vector<RateObservation> observations;
  for (double s : {0.0, 0.0, 0.2, 0.4, 0.6, 0.8}) observations.push_back({s, 100 - 50 * s, 100, 1});
  const double without = EstimateSlope(observations)->value;
  observations.push_back({0, 1000, 100, 1e-12});
  EXPECT_NEAR(EstimateSlope(observations)->value, without, 1e-6);
}

}  // namespace
}  // namespace coz::report
