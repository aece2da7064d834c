#include "coz/sampler/phase_keeper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>

#include "coz/base/reserved_descriptors.h"
#include "coz/testing/capabilities.h"

namespace coz::sampler {
namespace {

constexpr uint64_t kPeriodNs = 1'000'000;

TEST(PhaseKeeperTest, OnlyCreatorsOfThreadsThatComeAndGoNeedOne) {
  EndedThreads ended;
  EXPECT_FALSE(CreatorsNeedPhaseKeepers(ended, kPeriodNs)) << "no thread has ended: a pool";
  for (int i = 0; i < 15; ++i) NoteThreadEnd(ended, kPeriodNs, 0);
  EXPECT_FALSE(CreatorsNeedPhaseKeepers(ended, kPeriodNs));
  NoteThreadEnd(ended, kPeriodNs, 0);
  EXPECT_TRUE(CreatorsNeedPhaseKeepers(ended, kPeriodNs));
  NoteThreadEnd(ended, 1000 * kPeriodNs, 0);
  EXPECT_FALSE(CreatorsNeedPhaseKeepers(ended, kPeriodNs)) << "threads live long";
}

TEST(PhaseKeeperTest, HoldsOneReservedDescriptorUntilItIsReleased) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  PhaseKeeper keeper;
  ASSERT_EQ(keeper.Hold(), 0);
  const int fd = NextReservedDescriptor(0);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
  ASSERT_EQ(keeper.Hold(), 0);
  EXPECT_EQ(NextReservedDescriptor(fd + 1), -1) << "one is enough";
  keeper.Release();
  EXPECT_EQ(NextReservedDescriptor(0), -1);
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
  keeper.Release();
}

TEST(PhaseKeeperTest, LeavesADescriptorAloneThatTheProgramHasTaken) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  PhaseKeeper keeper;
  ASSERT_EQ(keeper.Hold(), 0);
  const int fd = NextReservedDescriptor(0);
  ASSERT_EQ(dup2(0, fd), fd);
  ReleaseDescriptor(fd);
  ASSERT_EQ(keeper.Hold(), 0) << "another one";
  const int next = NextReservedDescriptor(0);
  EXPECT_NE(next, fd);
  keeper.NoteMove(next, fd);
  keeper.Release();
  EXPECT_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << "still the program's";
  ReleaseDescriptor(next);
  close(next);
  close(fd);
}

}  // namespace
}  // namespace coz::sampler
