#include "coz/sync/delay/shared_delay.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace coz::delay {
namespace {

// Each sample stands for four threads. Every other sample counts twice.
class FollowingThreads {
 public:
  void Run(int samples) {
    for (int sample = 0; sample < samples; ++sample) {
      const uint64_t added_ns = sample % 2 == 0 ? 3000 : 6000;
      shared_.Add(1, added_ns);
      added_ns_ += added_ns;
      for (int thread = 0; thread < 4; ++thread) taken_.push_back(shared_.Take(1, 4));
    }
  }

  uint64_t AddedNs() const { return added_ns_; }
  const std::vector<uint64_t>& Taken() const { return taken_; }

 private:
  SharedDelay shared_;
  uint64_t added_ns_ = 0;
  std::vector<uint64_t> taken_;
};

TEST(SharedDelayTest, WhatOneSampleStandsForIsTakenByTheThreadsThatFollow) {
  FollowingThreads threads;
  threads.Run(100);
  const std::vector<uint64_t>& taken = threads.Taken();
  const uint64_t taken_ns = std::accumulate(taken.begin(), taken.end(), uint64_t{0});
  EXPECT_LE(taken_ns, threads.AddedNs());
  EXPECT_GE(taken_ns + 5 * uint64_t{4500}, threads.AddedNs()) << "of more than five samples";
}

TEST(SharedDelayTest, ThreadsImposeAboutTheSame) {
  FollowingThreads threads;
  threads.Run(100);
  const auto [least, most] =
      std::minmax_element(threads.Taken().begin() + 100, threads.Taken().end());
  EXPECT_GT(*least, 850u);  // of 1125
  EXPECT_LT(*most, 1400u);
}

TEST(SharedDelayTest, OnlyWhileItsSelectionLasts) {
  SharedDelay shared;
  shared.Add(1, 3000);
  EXPECT_EQ(shared.Take(2, 1), 0u);
  shared.Add(2, 100);
  EXPECT_EQ(shared.Take(2, 1), 25u) << "and nothing of the earlier 3000";
  EXPECT_EQ(shared.Take(1, 1), 0u);
}

TEST(SharedDelayTest, NothingWhereNoThreadIsStoodFor) {
  SharedDelay shared;
  shared.Add(1, 3000);
  EXPECT_EQ(shared.Take(1, 0), 0u);
}

}  // namespace
}  // namespace coz::delay
