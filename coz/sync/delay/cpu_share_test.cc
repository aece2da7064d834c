#include "coz/sync/delay/cpu_share.h"

#include "gtest/gtest.h"

namespace coz::delay {
namespace {

constexpr uint64_t kUs = 1000;

class CpuShareTest : public ::testing::Test {
 protected:
  CpuShareTest() { Take(1, 0); }

  uint64_t Take(uint64_t now_us, uint64_t queued_us) {
    return share_.Take({now_us * kUs, queued_us * kUs}) / kUs;
  }

  CpuShare share_ = {};
};

TEST_F(CpuShareTest, TellsTheTimeInTheQueueSinceTheLastLook) {
  EXPECT_EQ(Take(1001, 600), 600u);
  EXPECT_EQ(Take(2001, 600), 0u);
  EXPECT_EQ(Take(3001, 700), 100u);
}

TEST_F(CpuShareTest, TheFirstLookTellsNone) {
  CpuShare share = {};
  EXPECT_EQ(share.Take({1001 * kUs, 600 * kUs}), 0u);
  EXPECT_EQ(share.Take({2001 * kUs, 650 * kUs}), 50 * kUs);
}

TEST_F(CpuShareTest, TellsNoMoreThanTheTimeThatHasPassed) {
  EXPECT_EQ(Take(101, 600), 100u) << "of two clocks one was read later";
}

TEST_F(CpuShareTest, MomentsInTheQueueAddUp) {
  uint64_t told_us = 0;
  for (uint64_t look = 1; look <= 40; ++look) told_us += Take(1 + 25 * look, 15 * look);
  EXPECT_EQ(told_us, 40u * 15);
}

TEST_F(CpuShareTest, MomentsAreForgottenInASecond) {
  EXPECT_EQ(Take(1'000'001, 15), 15u);
  EXPECT_EQ(Take(1'000'101, 30), 0u);
}

TEST_F(CpuShareTest, KnowsForHowLongNoLookIsDue) {
  const uint64_t least_ns = CpuShare::kLeastBetweenLooksNs;
  EXPECT_TRUE(share_.HasJustLooked(1 * kUs + least_ns - 1, least_ns));
  EXPECT_FALSE(share_.HasJustLooked(1 * kUs + least_ns, least_ns));
  Take(51, 10);  // which tells none
  EXPECT_TRUE(share_.HasJustLooked(51 * kUs + least_ns - 1, least_ns));
  share_.Reset();
  EXPECT_FALSE(share_.HasJustLooked(51 * kUs, least_ns));
}

}  // namespace
}  // namespace coz::delay
