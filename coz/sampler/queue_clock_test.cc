#include "coz/sampler/queue_clock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "coz/base/reserved_descriptors.h"
#include "coz/base/switch_mark.h"

namespace coz::sampler {
namespace {

// So that the next reading is one of the file.
void LoseCpu() {
  const timespec moment = {0, 1000};
  nanosleep(&moment, nullptr);
}

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
  LoseCpu();
  ASSERT_TRUE(clock.Read(&queued_ns));
  EXPECT_EQ(NextReservedDescriptor(fd + 1), -1);
  clock.Release();
  EXPECT_EQ(NextReservedDescriptor(0), -1);
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
}

// The second reading would fail if it were one of the file.
TEST(QueueClockTest, ReadsNothingWhileTheThreadHasItsCpu) {
  if (!KernelTells() || !SwitchMarksWork()) GTEST_SKIP() << "no schedstat, or no rseq area";
  constexpr int kTries = 100;  // chance may take the CPU away in between
  int kept = 0;
  for (int i = 0; i < kTries && kept == 0; ++i) {
    QueueClock clock;
    uint64_t first_ns = 0;
    ASSERT_TRUE(clock.Read(&first_ns));
    const int fd = NextReservedDescriptor(0);
    close(fd);
    uint64_t second_ns = 0;
    if (clock.Read(&second_ns) && second_ns == first_ns) ++kept;
    ReleaseDescriptor(fd);
  }
  EXPECT_GT(kept, 0);
}

TEST(QueueClockTest, OpensAnotherOneWhereTheProgramHasTakenTheNumber) {
  if (!KernelTells()) GTEST_SKIP() << "no schedstat";
  QueueClock clock;
  uint64_t queued_ns = 0;
  ASSERT_TRUE(clock.Read(&queued_ns));
  const int fd = NextReservedDescriptor(0);
  ReleaseDescriptor(fd);
  LoseCpu();
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
  LoseCpu();
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
