// Sampling over fork and exec.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "coz/sampler/perf_event.h"
#include "coz/sampler/sampler.h"
#include "coz/sampler/testing/sampler_fixture.h"
#include "coz/testing/in_child.h"

namespace coz::sampler {
namespace {

using testing::RunInChild;

using SamplerProcessTest = SamplerTest;
INSTANTIATE_TEST_SUITE_P(Sources, SamplerProcessTest, EverySource(), NameOfSource);

TEST_P(SamplerProcessTest, ChildOfForkIsNotSampledAndHoldsNoDescriptor) {
  ASSERT_EQ(RunInChild([] {
              Start(&CountHere);
              std::atomic<bool> done{false};
              std::thread other([&done] {
                StartThreadSampling();
                while (!done) BurnInUserCode(kMs);
                StopThreadSampling();
              });
              BurnInUserCode(20 * kMs);
              outcome->values[0] = CountDescriptorsOfPerf();
              outcome->values[1] = static_cast<uint64_t>(RunInChild([] {
                OnForkInChild();
                periods_here = 0;
                BurnInUserCode(50 * kMs);
                outcome->values[2] = periods_here;
                outcome->values[3] = CountDescriptorsOfPerf();
              }));
              periods_here = 0;
              BurnUntilSampled(5);
              outcome->values[4] = periods_here;
              done = true;
              other.join();
            }),
            0);
  EXPECT_EQ(outcome->values[0] != 0, GetParam() != SamplingSource::kCpuTimer);
  EXPECT_EQ(outcome->values[1], 0u);
  EXPECT_EQ(outcome->values[2], 0u);
  EXPECT_EQ(outcome->values[3], 0u);
  EXPECT_GT(outcome->values[4], 5u);
}

TEST_P(SamplerProcessTest, ChildOfForkCanStartASamplerOfItsOwn) {
  ASSERT_EQ(RunInChild([] {
              Start(&CountHere);
              outcome->values[0] = static_cast<uint64_t>(RunInChild([] {
                OnForkInChild();
                periods_here = 0;
                Start(&CountHere);
                BurnUntilSampled(5);
                outcome->values[1] = periods_here;
              }));
            }),
            0);
  EXPECT_EQ(outcome->values[0], 0u);
  EXPECT_GT(outcome->values[1], 5u);
}

// Opens an event for the calling thread, as another process does.
void StartFromOutside() {
  SamplerOptions options;
  options.sampling_period_ns = kMs;
  options.source = SamplingSource::kPerfSigtrap;
  options.callback = &CountHere;
  EXPECT_EQ(StartSamplerFromOutside(options, /*kernel_included=*/true), 0);
  const auto tid = static_cast<int32_t>(syscall(SYS_gettid));
  EnablePerfEvent(OpenTaskClockOf(tid, kMs, /*exclude_kernel=*/true));
}

// A child's CPU clock starts at zero.
TEST(SamplerFromOutsideTest, CpuTimeOfTheThreadThatForkedIsNotTheChilds) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  testing::SharedValue<Outcome> shared;
  outcome = &*shared;
  ASSERT_EQ(RunInChild([] {
              StartFromOutside();
              BurnUntilSampled(100);
              outcome->values[0] = static_cast<uint64_t>(RunInChild([] {
                OnForkInChild();
                periods_here = 0;
                StartFromOutside();
                BurnUntilSampled(5);
                outcome->values[1] = periods_here;
                outcome->values[2] = ThreadCpuNs() / kMs;
              }));
            }),
            0);
  EXPECT_EQ(outcome->values[0], 0u);
  EXPECT_GT(outcome->values[1], 5u);
  EXPECT_LE(outcome->values[1], outcome->values[2] + 1);
}

// With 50 µs between samples, most of these would come in the kernel's part of execve.
TEST_P(SamplerProcessTest, ExecutedProgramRunsUnsampledWithoutADescriptor) {
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(RunInChild([] {
                Start(&Ignore, kMs / 20);
                BurnInUserCode(kMs);
                PrepareForExec();
                execl("/bin/sh", "sh", "-c",
                      "ls -l /proc/$$/fd 2>/dev/null | grep -q perf_event && exit 3; "
                      "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done",
                      nullptr);
                _exit(4);
              }),
              0);
  }
}

TEST_P(SamplerProcessTest, SamplingGoesOnAfterAFailedExec) {
  ASSERT_EQ(RunInChild([] {
              Start(&CountHere);
              PrepareForExec();
              execl("/nonexistent", "nonexistent", nullptr);
              ResumeAfterFailedExec();
              BurnUntilSampled(5);
              outcome->values[0] = periods_here;
            }),
            0);
  EXPECT_GT(outcome->values[0], 5u);
}

}  // namespace
}  // namespace coz::sampler
