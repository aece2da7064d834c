#include "coz/experiment/speedup_deck.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"

namespace coz::experiment {
namespace {

TEST(SpeedupDeckTest, EveryBlockHasOneBaseline) {
  SpeedupDeck deck({0.1, 0.2, 0.3, 0.4, 0.5}, 4);
  Random random(1);
  std::set<int> places;
  for (int block = 0; block < 50; ++block) {
    int baselines = 0;
    for (int i = 0; i < 4; ++i) {
      if (deck.Next(random) != 0) continue;
      ++baselines;
      places.insert(i);
    }
    EXPECT_EQ(baselines, 1);
  }
  EXPECT_EQ(places.size(), 4u);  // and not always at the same place
}

// A deck for each run.
TEST(SpeedupDeckTest, RunsOfOneExperimentHaveTheirBaselinesToo) {
  std::set<int> places;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Dealt dealt;
    bool is_last_large = false;
    for (int run = 0; run < 12; ++run) {
      SpeedupDeck deck({0.2, 0.4, 0.6, 0.8}, 4);
      Random random(100 * seed + static_cast<uint64_t>(run));
      deck.GoOn(dealt, random);
      const double speedup = deck.Next(random);
      if (speedup == 0) {
        ++dealt.baselines;
        places.insert(run % 4);
      } else {
        EXPECT_NE(speedup > 0.5, is_last_large);
        is_last_large = speedup > 0.5;
        ++dealt.others;
      }
      if (run % 4 != 3) continue;
      EXPECT_EQ(dealt.baselines, static_cast<uint64_t>(run + 1) / 4);
    }
    EXPECT_EQ(dealt.baselines, 3u);
  }
  EXPECT_EQ(places.size(), 4u);
}

TEST(SpeedupDeckTest, WhatLacksBaselinesHasThemFirst) {
  SpeedupDeck deck({0.5, 1}, 4);
  Random random(1);
  deck.GoOn({0, 8}, random);
  EXPECT_EQ(deck.Next(random), 0);
  SpeedupDeck enough({0.5, 1}, 4);
  enough.GoOn({3, 3}, random);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NE(enough.Next(random), 0);
  }
}

TEST(SpeedupDeckTest, DealsEachSpeedupOnceBeforeAnyComesAgain) {
  const std::vector<double> speedups = {0.1, 0.2, 0.4, 0.6, 0.8, 1};
  SpeedupDeck deck(speedups, 0);
  Random random(2);
  std::set<std::vector<double>> orders;
  for (int round = 0; round < 30; ++round) {
    std::vector<double> dealt;
    for (size_t i = 0; i < speedups.size(); ++i) dealt.push_back(deck.Next(random));
    orders.insert(dealt);
    std::sort(dealt.begin(), dealt.end());
    EXPECT_EQ(dealt, speedups);
  }
  EXPECT_GT(orders.size(), 10u);
}

TEST(SpeedupDeckTest, FiveExperimentsWithASpeedupHaveFiveDifferentOnes) {
  std::vector<double> speedups;
  for (int i = 1; i <= 20; ++i) speedups.push_back(i / 20.0);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SpeedupDeck deck(speedups, 4);
    Random random(seed);
    std::set<double> seen;
    for (int i = 0; i < 7; ++i) seen.insert(deck.Next(random));
    EXPECT_GE(seen.size(), 6u);  // 0 and at least five others
  }
}

TEST(SpeedupDeckTest, LargerAndSmallerSpeedupsTakeTurns) {
  SpeedupDeck deck({0.9, 0.1, 0.5, 0.3, 0.7}, 0);
  Random random(3);
  for (int round = 0; round < 10; ++round) {
    for (const bool is_large : {true, false, true, false, true}) {
      EXPECT_EQ(deck.Next(random) >= 0.5, is_large);
    }
  }
}

// A curve that bends is not taken for a straight line by chance.
TEST(SpeedupDeckTest, FourExperimentsAreInFourQuarters) {
  std::vector<double> speedups;
  for (int i = 1; i <= 20; ++i) speedups.push_back(i / 20.0);
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SpeedupDeck deck(speedups, 0);
    Random random(seed);
    for (int round = 0; round < 5; ++round) {
      std::vector<int> quarters;
      quarters.reserve(4);
      for (int i = 0; i < 4; ++i) quarters.push_back(static_cast<int>(deck.Next(random) * 3.99));
      orders.insert(quarters);
      EXPECT_EQ(std::set<int>(quarters.begin(), quarters.end()).size(), 4u);
    }
  }
  EXPECT_EQ(orders.size(), 4u) << "which part of a half comes first is left to chance";
}

}  // namespace
}  // namespace coz::experiment
