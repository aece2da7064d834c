// Sampling that another process suspends and resumes: here the test's own, by the same steps.
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "coz/sampler/sampler.h"
#include "coz/sampler/testing/sampler_fixture.h"
#include "coz/testing/in_child.h"

namespace coz::sampler {
namespace {

using testing::RunInChild;

using SuspensionTest = SamplerTest;
INSTANTIATE_TEST_SUITE_P(Sources, SuspensionTest, ::testing::Values(SamplingSource::kPerfSigtrap),
                         NameOfSource);

SharedEvent shared_event;
SuspensionCount suspensions;
std::atomic<uint64_t> samples;
std::atomic<uint64_t> heaviest;

void CountAll(const Sample& sample) {
  periods_here += sample.weight;
  ++samples;
  uint64_t most = heaviest.load();
  while (most < sample.weight && !heaviest.compare_exchange_weak(most, sample.weight)) {
  }
}

void StartShared(bool exclude_kernel = true) {
  SamplerOptions options;
  options.sampling_period_ns = kMs;
  options.source = SamplingSource::kPerfSigtrap;
  options.exclude_kernel = exclude_kernel;
  options.callback = &CountAll;
  options.shared_event = &shared_event;
  options.suspensions = &suspensions;
  outcome->status = StartSampler(options);
}

void Switch(unsigned long request) {
  suspensions.fetch_add(1);
  const SharedEventHold hold(&shared_event);
  const int fd_plus_1 = shared_event.fd_plus_1.load();
  if (fd_plus_1 != 0) ioctl(fd_plus_1 - 1, request, 0);
}
void Suspend() { Switch(PERF_EVENT_IOC_DISABLE); }
void Resume() { Switch(PERF_EVENT_IOC_ENABLE); }

uint64_t SamplesOfBurning(uint64_t cpu_ns) {
  const uint64_t before = samples.load();
  BurnInUserCode(cpu_ns);
  return samples.load() - before;
}

// A machine whose CPUs are taken away delivers few samples, each of many periods, so nothing is
// expected of their number within a time. Returns false if they do not come at all.
bool SamplesComeWhileBurning() {
  constexpr uint64_t kWanted = 20;
  constexpr int kMostMs = 10'000;
  uint64_t seen = 0;
  for (int ms = 0; ms < kMostMs && seen < kWanted; ++ms) seen += SamplesOfBurning(kMs);
  return seen >= kWanted;
}

// Far more than what a starved machine may leave unsampled of the time in which samples come.
constexpr uint64_t kLongNs = 400 * kMs;

TEST_P(SuspensionTest, NoThreadIsSampledMeanwhileAndAllAreAfterwards) {
  ASSERT_EQ(RunInChild([] {
              StartShared(false);
              std::atomic<int> stage{0};
              std::thread other([&] {
                StartThreadSampling();
                while (stage.load() < 3) {
                  BurnInUserCode(kMs);
                  if (stage.load() == 2) outcome->values[4] = periods_here;
                }
                outcome->values[5] = periods_here;
                StopThreadSampling();
              });
              outcome->values[0] = SamplesComeWhileBurning() ? 1 : 0;
              Suspend();
              stage = 1;
              // A signal that was under way.
              BurnInUserCode(5 * kMs);
              outcome->values[1] = SamplesOfBurning(kLongNs);
              heaviest = 0;
              Resume();
              stage = 2;
              outcome->values[2] = SamplesComeWhileBurning() ? 1 : 0;
              stage = 3;
              other.join();
              outcome->values[3] = heaviest.load();
              StopSampler();
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_EQ(outcome->values[0], 1u);
  EXPECT_EQ(outcome->values[1], 0u);
  EXPECT_EQ(outcome->values[2], 1u);
  // What ran unsampled is not made up for: a system call or a tick may add some periods.
  EXPECT_LT(outcome->values[3], kLongNs / kMs / 2);
  EXPECT_GT(outcome->values[5], 0u);
  EXPECT_EQ(outcome->counters.foreign_signals, 0u);
}

TEST_P(SuspensionTest, ThreadsThatBeginOrEndMeanwhileLeaveNothingUnsampledBehind) {
  ASSERT_EQ(RunInChild([] {
              StartShared();
              Suspend();
              std::thread inside([] {
                StartThreadSampling();
                BurnInUserCode(kLongNs);
                StopThreadSampling();
              });
              inside.join();
              std::atomic<bool> burnt{false};
              std::atomic<bool> resumed{false};
              std::thread across([&] {
                StartThreadSampling();
                BurnInUserCode(kLongNs);
                burnt = true;
                while (!resumed.load()) usleep(100);
                outcome->values[0] = SamplesComeWhileBurning() ? 1 : 0;
                StopThreadSampling();
              });
              while (!burnt.load()) usleep(100);
              Resume();
              resumed = true;
              across.join();
              StopSampler();
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_EQ(outcome->values[0], 1u);
  EXPECT_LT(outcome->counters.unsampled_ns, kLongNs / 2);
  EXPECT_LT(outcome->counters.lost_periods, kLongNs / kMs / 2);
}

TEST_P(SuspensionTest, AProcessThatStartsMeanwhileIsSampledFromTheEndOn) {
  ASSERT_EQ(RunInChild([] {
              suspensions = 1;
              StartShared();
              outcome->values[0] = SamplesOfBurning(50 * kMs);
              Resume();
              outcome->values[1] = SamplesComeWhileBurning() ? 1 : 0;
              StopSampler();
            }),
            0);
  EXPECT_EQ(outcome->values[0], 0u);
  EXPECT_EQ(outcome->values[1], 1u);
}

TEST_P(SuspensionTest, AnExecMeanwhileThatFailsLeavesItSuspended) {
  ASSERT_EQ(RunInChild([] {
              StartShared();
              PrepareForExec();
              outcome->values[0] = static_cast<uint64_t>(shared_event.fd_plus_1.load());
              Suspend();
              ResumeAfterFailedExec();
              outcome->values[1] = SamplesOfBurning(50 * kMs);
              PrepareForExec();
              Resume();
              outcome->values[2] = SamplesOfBurning(50 * kMs);
              ResumeAfterFailedExec();
              outcome->values[3] = SamplesComeWhileBurning() ? 1 : 0;
              StopSampler();
              outcome->values[4] = static_cast<uint64_t>(shared_event.fd_plus_1.load());
            }),
            0);
  EXPECT_EQ(outcome->values[0], 0u) << "nobody may enable it now";
  EXPECT_EQ(outcome->values[1], 0u);
  EXPECT_EQ(outcome->values[2], 0u);
  EXPECT_EQ(outcome->values[3], 1u);
  EXPECT_EQ(outcome->values[4], 0u) << "closed";
}

TEST_P(SuspensionTest, AChildOfForkDoesNotTouchItsParentsEvent) {
  ASSERT_EQ(RunInChild([] {
              StartShared();
              const pid_t child = fork();
              if (child == 0) {
                OnForkInChild();
                StopSampler();
                _exit(0);
              }
              int status = 0;
              waitpid(child, &status, 0);
              outcome->values[0] = shared_event.fd_plus_1.load() != 0 ? 1 : 0;
              outcome->values[1] = SamplesComeWhileBurning() ? 1 : 0;
              StopSampler();
            }),
            0);
  EXPECT_EQ(outcome->values[0], 1u);
  EXPECT_EQ(outcome->values[1], 1u);
}

TEST_P(SuspensionTest, ExtraSamplesEndToo) {
  ASSERT_EQ(RunInChild([] {
              SamplerOptions options;
              options.sampling_period_ns = kMs;
              options.source = SamplingSource::kPerfSigtrap;
              options.exclude_kernel = true;
              options.shared_event = &shared_event;
              options.suspensions = &suspensions;
              options.callback = +[](const Sample& sample) {
                if (sample.is_extra) ++samples;
                if (sample.is_extra || !TakesExtraSamples()) TakeExtraSampleAfter(kMs / 4);
              };
              StartSampler(options);
              outcome->values[0] = SamplesComeWhileBurning() ? 1 : 0;
              Suspend();
              BurnInUserCode(5 * kMs);
              outcome->values[1] = SamplesOfBurning(100 * kMs);
              outcome->values[2] = CountDescriptorsOfPerf();
              Resume();
              outcome->values[3] = SamplesComeWhileBurning() ? 1 : 0;
              StopSampler();
            }),
            0);
  EXPECT_EQ(outcome->values[0], 1u);
  EXPECT_EQ(outcome->values[1], 0u);
  EXPECT_EQ(outcome->values[2], 1u);
  EXPECT_EQ(outcome->values[3], 1u);
}

// While one side holds the event, the other waits; one that has been killed holds nobody up for
// good.
TEST(SharedEventTest, AHoldThatIsNeverReleasedIsGivenUp) {
  SharedEvent event = {};
  event.held = 1;
  {
    const SharedEventHold hold(&event);
    EXPECT_EQ(event.held.load(), 1u);
  }
  EXPECT_EQ(event.held.load(), 0u);
}

}  // namespace
}  // namespace coz::sampler
