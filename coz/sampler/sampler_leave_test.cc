// What threads keep open for the sampler, where it leaves the process and comes again.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "coz/base/reserved_descriptors.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/testing/sampler_fixture.h"
#include "coz/testing/in_child.h"
#include "gtest/gtest.h"

namespace coz::sampler {
namespace {

void Enter() {
  SamplerOptions options;
  options.sampling_period_ns = kMs;
  options.callback = Ignore;
  StartSamplerFromOutside(options, /*kernel_included=*/false);
}

void Leave() {
  StopSampler();
  CloseEventsOfThreads();
}

bool ReadsClock() {
  uint64_t queued_ns = 0;
  return ReadQueueClock(&queued_ns);
}

int Kept() { return NextReservedDescriptor(0); }

// A thread that reads its clock before the sampler leaves, and does `afterwards` when `meanwhile`
// is over.
void WithThread(const std::function<void()>& meanwhile, const std::function<void()>& afterwards) {
  std::atomic<int> stage{0};
  std::thread thread([&] {
    stage = ReadsClock() ? 1 : -1;
    while (stage < 2) usleep(100);
    afterwards();
  });
  while (stage == 0) usleep(100);
  meanwhile();
  stage = 2;
  thread.join();
}

class SamplerLeaveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (access("/proc/thread-self/schedstat", R_OK) != 0) GTEST_SKIP() << "no schedstat";
  }
};

TEST_F(SamplerLeaveTest, ThreadThatComesBackOpensNothing) {
  EXPECT_EQ(testing::RunInChild([] {
              Enter();
              bool is_right = true;
              WithThread(
                  [&] {
                    is_right &= Kept() >= 0;
                    Leave();
                    is_right &= Kept() < 0;
                  },
                  [&] { is_right &= !ReadsClock() && Kept() < 0; });
              _exit(is_right ? 0 : 1);
            }),
            0);
}

TEST_F(SamplerLeaveTest, ThreadOfAnEarlierSessionClosesNobodyElsesClock) {
  EXPECT_EQ(testing::RunInChild([] {
              Enter();
              bool is_right = true;
              WithThread(
                  [&] {
                    const int before = Kept();
                    Leave();
                    Enter();
                    is_right &= ReadsClock() && Kept() == before;
                  },
                  [&] {
                    StopThreadSampling();
                    is_right &= Kept() >= 0;
                  });
              _exit(is_right ? 0 : 1);
            }),
            0);
}

int32_t Tid() { return static_cast<int32_t>(syscall(SYS_gettid)); }

// Of the kernel.
int Timers() {
  std::ifstream timers("/proc/self/timers");
  std::string line;
  int count = 0;
  while (std::getline(timers, line)) count += line.rfind("ID:", 0) == 0 ? 1 : 0;
  return count;
}

void EnterWithTimers() {
  SamplerOptions options;
  options.sampling_period_ns = kMs;
  options.source = SamplingSource::kCpuTimer;
  options.callback = CountHere;
  StartSamplerFromOutside(options, /*kernel_included=*/true);
}

void LeaveWithTimers() {
  StopSampler();
  DeleteTimersOfThreads();
}

// A thread that does `afterwards` when another has sampled it by a timer and has done `meanwhile`.
void WithTimedThread(const std::function<void()>& meanwhile,
                     const std::function<void()>& afterwards) {
  std::atomic<int32_t> tid{0};
  std::atomic<bool> may_go_on{false};
  std::thread thread([&] {
    tid = Tid();
    while (!may_go_on) usleep(100);
    afterwards();
  });
  while (tid == 0) usleep(100);
  EXPECT_EQ(SampleThreadByTimer(tid), 0);
  meanwhile();
  may_go_on = true;
  thread.join();
}

TEST(SamplerLeaveWithTimersTest, ThreadsOfBothKindsAreSampledUntilItLeaves) {
  EXPECT_EQ(testing::RunInChild([] {
              bool is_right = true;
              for (int session = 0; session < 2; ++session) {
                EnterWithTimers();
                StartThreadSampling();
                WithTimedThread([&] { is_right &= Timers() == 2; },
                                [&] {
                                  periods_here = 0;
                                  while (periods_here == 0) BurnInUserCode(kMs);
                                  LeaveWithTimers();
                                  is_right &= Timers() == 0;
                                  periods_here = 0;
                                  BurnInUserCode(50 * kMs);
                                  is_right &= periods_here == 0;
                                });
              }
              _exit(is_right ? 0 : 1);
            }),
            0);
}

TEST(SamplerLeaveWithTimersTest, ThreadThatHasATimerGetsNoSecond) {
  EXPECT_EQ(testing::RunInChild([] {
              EnterWithTimers();
              bool is_right = SampleThreadByTimer(Tid()) == 0;
              is_right &= SampleThreadByTimer(Tid()) == 0 && Timers() == 1;
              SampleLateThread();
              is_right &= Timers() == 1;
              while (periods_here == 0) BurnInUserCode(kMs);
              SampleLateThread();
              is_right &= Timers() == 1;
              _exit(is_right ? 0 : 1);
            }),
            0);
}

// It has had no sample, so it does not know of its timer.
TEST(SamplerLeaveWithTimersTest, ThreadThatEndsTakesItsTimerAlong) {
  EXPECT_EQ(testing::RunInChild([] {
              EnterWithTimers();
              bool is_right = true;
              WithTimedThread([&] { is_right &= Timers() == 1; },
                              [&] {
                                StopThreadSampling();
                                is_right &= Timers() == 0;
                              });
              _exit(is_right ? 0 : 1);
            }),
            0);
}

TEST(SamplerLeaveWithTimersTest, ThreadThatBlocksTheSignalGetsNone) {
  EXPECT_EQ(testing::RunInChild([] {
              EnterWithTimers();
              sigset_t set;
              sigemptyset(&set);
              sigaddset(&set, kSamplingSignal);
              pthread_sigmask(SIG_BLOCK, &set, nullptr);
              StartThreadSampling();
              SampleLateThread();
              bool is_right = Timers() == 0;
              pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
              SampleLateThread();
              is_right &= Timers() == 1;
              _exit(is_right ? 0 : 1);
            }),
            0);
}

TEST(SamplerLeaveWithTimersTest, ExecTakesTheTimerAlong) {
  EXPECT_EQ(testing::RunInChild([] {
              EnterWithTimers();
              bool is_right = SampleThreadByTimer(Tid()) == 0;
              PrepareForExec();
              is_right &= Timers() == 0;
              ResumeAfterFailedExec();
              is_right &= Timers() == 1;
              _exit(is_right ? 0 : 1);
            }),
            0);
}

}  // namespace
}  // namespace coz::sampler
