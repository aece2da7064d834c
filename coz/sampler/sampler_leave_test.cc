// What threads keep open for the sampler, where it leaves the process and comes again.
#include <unistd.h>

#include <atomic>
#include <functional>
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

}  // namespace
}  // namespace coz::sampler
