// What the sampler does where the system grants it less than it asks for.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "coz/sampler/sampler.h"
#include "coz/sampler/testing/sampler_fixture.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/in_child.h"

namespace coz::sampler {
namespace {

using testing::RunInChild;
using testing::SharedValue;

TEST(SamplerLimitsTest, ThreadsWithoutARoomForATimerAreCountedAndRun) {
  SharedValue<Outcome> shared;
  outcome = &*shared;
  ASSERT_EQ(RunInChild([] {
              SamplerOptions options;
              options.source = SamplingSource::kCpuTimer;
              options.callback = &Ignore;
              StartSampler(options);
              const rlimit none = {0, 0};
              setrlimit(RLIMIT_SIGPENDING, &none);
              for (int i = 0; i < 10; ++i) {
                std::thread([] {
                  StartThreadSampling();
                  BurnInUserCode(2 * kMs);
                  StopThreadSampling();
                }).join();
              }
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_EQ(outcome->counters.unsampled_threads, 10u);
}

TEST(SamplerLimitsTest, SetsigSurvivesAnExhaustedLimitOfPendingSignals) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  SharedValue<Outcome> shared;
  outcome = &*shared;
  ASSERT_EQ(RunInChild([] {
              SamplerOptions options;
              options.source = SamplingSource::kPerfSetsig;
              options.callback = &CountHere;
              StartSampler(options);
              const rlimit none = {0, 0};
              setrlimit(RLIMIT_SIGPENDING, &none);
              BurnUntilSampled(5);
              outcome->values[0] = periods_here;
            }),
            0);
  EXPECT_GT(outcome->values[0], 5u);
}

TEST(SamplerLimitsTest, ThreadWithoutADescriptorIsSampledByATimer) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  SharedValue<Outcome> shared;
  outcome = &*shared;
  ASSERT_EQ(RunInChild([] {
              SamplerOptions options;
              options.source = SamplingSource::kPerfSetsig;
              options.callback = &CountHere;
              StartSampler(options);
              const rlimit none = {0, 0};
              setrlimit(RLIMIT_NOFILE, &none);
              std::thread([] {
                StartThreadSampling();
                BurnUntilSampled(5);
                StopThreadSampling();
                outcome->values[0] = periods_here;
              }).join();
            }),
            0);
  EXPECT_GT(outcome->values[0], 5u);
}

// As in a container: the call answers `error`.
void Forbid(long call, int error) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {4, program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(5);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) _exit(6);
}

// In a child: `outcome` gets what the sampler makes of it, and how many periods it counts.
void SampleWithout(long call, int error) {
  Forbid(call, error);
  SamplerOptions options;
  options.callback = &CountHere;
  outcome->status = StartSampler(options);
  BurnUntilSampled(5);
  outcome->values[0] = periods_here;
}

TEST(SamplerRefusedTest, ForbiddenPerfFallsBackToTheTimerAndKeepsTheReason) {
  for (const int error : {EPERM, EACCES, ENOSYS}) {
    SharedValue<Outcome> shared;
    outcome = &*shared;
    ASSERT_EQ(RunInChild([error] { SampleWithout(SYS_perf_event_open, error); }), 0);
    EXPECT_EQ(outcome->status.source, SamplingSource::kCpuTimer);
    EXPECT_EQ(outcome->status.perf_sigtrap_errno, error);
    EXPECT_EQ(outcome->status.perf_setsig_errno, error);
    EXPECT_EQ(outcome->status.cpu_timer_errno, 0);
    EXPECT_GT(outcome->values[0], 5u);
  }
}

TEST(SamplerRefusedTest, ForcedSourceHasNoFallback) {
  SharedValue<Outcome> shared;
  outcome = &*shared;
  ASSERT_EQ(RunInChild([] {
              Forbid(SYS_perf_event_open, EPERM);
              SamplerOptions options;
              options.source = SamplingSource::kPerfSigtrap;
              options.callback = &CountHere;
              outcome->status = StartSampler(options);
              BurnInUserCode(20 * kMs);
              outcome->values[0] = periods_here;
            }),
            0);
  EXPECT_EQ(outcome->status.source, SamplingSource::kNone);
  EXPECT_EQ(outcome->status.perf_sigtrap_errno, EPERM);
  EXPECT_EQ(outcome->status.perf_setsig_errno, 0);
  EXPECT_EQ(outcome->values[0], 0u);
}

// A sample without a handler would end the process.
TEST(SamplerRefusedTest, NothingIsSampledWithoutAHandler) {
  for (const bool is_from_outside : {false, true}) {
    SharedValue<Outcome> shared;
    outcome = &*shared;
    ASSERT_EQ(RunInChild([is_from_outside] {
                Forbid(SYS_rt_sigaction, EPERM);
                SamplerOptions options;
                options.callback = &CountHere;
                if (is_from_outside) {
                  outcome->status.handler_errno = -StartSamplerFromOutside(options, false);
                } else {
                  outcome->status = StartSampler(options);
                }
                std::thread([] {
                  StartThreadSampling();
                  BurnInUserCode(20 * kMs);
                  StopThreadSampling();
                }).join();
                BurnInUserCode(20 * kMs);
              }),
              0);
    EXPECT_EQ(outcome->status.source, SamplingSource::kNone);
    EXPECT_EQ(outcome->status.handler_errno, EPERM);
  }
}

int OptionsErrnoOf(SampleCallback callback, uint64_t period_ns, SamplingSource source) {
  SamplerOptions options;
  options.callback = callback;
  options.sampling_period_ns = period_ns;
  options.source = source;
  return StartSampler(options).options_errno;
}

TEST(SamplerRefusedTest, OptionsThatCannotWorkStartNothing) {
  SharedValue<Outcome> shared;
  outcome = &*shared;
  ASSERT_EQ(RunInChild([] {
              constexpr auto kTimer = SamplingSource::kCpuTimer;
              const int results[] = {
                  OptionsErrnoOf(nullptr, kMs, kTimer),
                  OptionsErrnoOf(&CountHere, 0, kTimer),
                  OptionsErrnoOf(&CountHere, kLeastSamplingPeriodNs - 1, kTimer),
                  OptionsErrnoOf(&CountHere, kMs, static_cast<SamplingSource>(99)),
              };
              for (const int result : results) outcome->values[0] += result == EINVAL;
              BurnInUserCode(20 * kMs);
              outcome->values[1] = periods_here;
              outcome->values[2] = OptionsErrnoOf(&CountHere, kMs, kTimer) == 0;
              BurnUntilSampled(5);
              outcome->values[3] = periods_here;
            }),
            0);
  EXPECT_EQ(outcome->values[0], 4u);
  EXPECT_EQ(outcome->values[1], 0u);
  EXPECT_EQ(outcome->values[2], 1u);
  EXPECT_GT(outcome->values[3], 5u);
}

TEST(SamplerRefusedTest, SamplerThatSamplesIsNotStartedAgain) {
  SharedValue<Outcome> shared;
  outcome = &*shared;
  ASSERT_EQ(RunInChild([] {
              constexpr auto kTimer = SamplingSource::kCpuTimer;
              OptionsErrnoOf(&CountHere, kMs, kTimer);
              outcome->values[0] = OptionsErrnoOf(&Ignore, kMs, kTimer) == EBUSY;
              BurnUntilSampled(5);
              outcome->values[1] = periods_here;
              StopSampler();
              outcome->values[2] = OptionsErrnoOf(&Ignore, kMs, kTimer) == 0;
            }),
            0);
  EXPECT_EQ(outcome->values[0], 1u);
  EXPECT_GT(outcome->values[1], 5u);  // by the first callback
  EXPECT_EQ(outcome->values[2], 1u);
}

// So what one start has counted is the difference of two readings.
TEST(SamplerRefusedTest, CountersGoOnWhenTheSamplerIsStartedAgain) {
  SharedValue<Outcome> shared;
  outcome = &*shared;
  ASSERT_EQ(RunInChild([] {
              for (int i = 0; i < 2; ++i) {
                periods_here = 0;
                OptionsErrnoOf(&CountHere, kMs, SamplingSource::kCpuTimer);
                BurnUntilSampled(5);
                StopSampler();
                outcome->values[0] += periods_here;
              }
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_GT(outcome->counters.weight, 10u);
  EXPECT_EQ(outcome->counters.weight, outcome->values[0]);
}

TEST(SamplerRefusedTest, EventThatCannotBeEnabledLeavesTheProcessToTheTimer) {
  COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
  SharedValue<Outcome> shared;
  outcome = &*shared;
  ASSERT_EQ(RunInChild([] { SampleWithout(SYS_ioctl, ENOMEM); }), 0);
  EXPECT_EQ(outcome->status.source, SamplingSource::kCpuTimer);
  EXPECT_EQ(outcome->status.perf_sigtrap_errno, ENOMEM);
  EXPECT_EQ(outcome->status.kernel_errno, 0);
  EXPECT_GT(outcome->values[0], 5u);
}

}  // namespace
}  // namespace coz::sampler
