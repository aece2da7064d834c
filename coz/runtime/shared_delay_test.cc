#include "coz/runtime/shared_delay.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace coz {
namespace {

TEST(SharedDelayTest, WhatOneSampleStandsForIsTakenByTheThreadsThatFollow) {
  SharedDelay shared;
  uint64_t added_ns = 0;
  uint64_t taken_ns = 0;
  uint64_t most_ns = 0;
  for (int sampled = 0; sampled < 100; ++sampled) {
    shared.Add(1, 3000);
    added_ns += 3000;
    for (int thread = 0; thread < 4; ++thread) {
      const uint64_t own_ns = shared.Take(1, 4);
      taken_ns += own_ns;
      most_ns = std::max(most_ns, own_ns);
    }
  }
  EXPECT_LE(taken_ns, added_ns);
  EXPECT_GE(taken_ns + 3000, added_ns);
  EXPECT_LT(most_ns, 1500u) << "no thread imposes much more than its part, 750";
}

TEST(SharedDelayTest, OnlyWhileItsSelectionLasts) {
  SharedDelay shared;
  shared.Add(1, 3000);
  EXPECT_EQ(shared.Take(2, 1), 0u);
  shared.Add(2, 100);
  EXPECT_EQ(shared.Take(2, 1), 100u);
  EXPECT_EQ(shared.Take(2, 1), 0u);
  EXPECT_EQ(shared.Take(1, 1), 0u);
}

TEST(SharedDelayTest, NothingWhereNoThreadIsStoodFor) {
  SharedDelay shared;
  shared.Add(1, 3000);
  EXPECT_EQ(shared.Take(1, 0), 0u);
}

}  // namespace
}  // namespace coz
