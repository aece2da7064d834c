#include "coz/sampler/queue_clock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "coz/base/reserved_descriptors.h"

namespace coz::sampler {
namespace {

bool KernelTells() { return access("/proc/thread-self/schedstat", R_OK) == 0; }

TEST(QueueClockTest, GrowsWhileAnotherThreadHasTheCpu) {
  if (!KernelTells()) GTEST_SKIP() << "no schedstat";
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    QueueClock clock;
    uint64_t before_ns = 0;
    ASSERT_TRUE(clock.Read(&before_ns));
    std::atomic<bool> stop{false};
    std::thread other([&] {  // inherits the CPU
      while (!stop) {
      }
    });
    // For as long as it takes: the other one gets its slices.
    uint64_t after_ns = before_ns;
    while (after_ns < before_ns + 1'000'000) ASSERT_TRUE(clock.Read(&after_ns));
    stop = true;
    other.join();
    clock.Release();
  }).join();
}

TEST(QueueClockTest, KeepsOneReservedDescriptorOutOfTheWay) {
  if (!KernelTells()) GTEST_SKIP() << "no schedstat";
  QueueClock clock;
  uint64_t queued_ns = 0;
  ASSERT_TRUE(clock.Read(&queued_ns));
  const int fd = NextReservedDescriptor(0);
  EXPECT_GT(fd, 100);
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_TRUE(clock.Read(&queued_ns));
  EXPECT_EQ(NextReservedDescriptor(fd + 1), -1);
  clock.Release();
  EXPECT_EQ(NextReservedDescriptor(0), -1);
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

TEST(QueueClockTest, OpensAnotherOneWhereTheProgramHasTakenTheNumber) {
  if (!KernelTells()) GTEST_SKIP() << "no schedstat";
  QueueClock clock;
  uint64_t queued_ns = 0;
  ASSERT_TRUE(clock.Read(&queued_ns));
  const int fd = NextReservedDescriptor(0);
  ReleaseDescriptor(fd);
  ASSERT_TRUE(clock.Read(&queued_ns));
  EXPECT_NE(NextReservedDescriptor(0), -1);
  clock.Release();
  close(fd);
}

TEST(QueueClockTest, KeepsNoDescriptorWhereTheProgramLeavesNoRoom) {
  if (!KernelTells()) GTEST_SKIP() << "no schedstat";
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few = {8, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  QueueClock clock;
  uint64_t queued_ns = 0;
  const bool tells = clock.Read(&queued_ns);
  const int kept = NextReservedDescriptor(0);
  const rlimit none = {0, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool tells_without = clock.Read(&queued_ns);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_TRUE(tells);
  EXPECT_EQ(kept, -1);
  EXPECT_FALSE(tells_without);
  EXPECT_TRUE(clock.Read(&queued_ns)) << "asks again";
  clock.Release();
}

}  // namespace
}  // namespace coz::sampler
