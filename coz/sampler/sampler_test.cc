#include "coz/sampler/sampler.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "coz/sampler/testing/sampler_fixture.h"
#include "coz/testing/in_child.h"

// The linker gives the bounds of a section.
extern "C" const char __start_until_sampled[], __stop_until_sampled[];

namespace coz::sampler {
namespace {

using testing::RunInChild;

INSTANTIATE_TEST_SUITE_P(Sources, SamplerTest, EverySource(), NameOfSource);

TEST_P(SamplerTest, WeightsAddUpToCpuTimeInPeriods) {
  ASSERT_EQ(RunInChild([] {
              Start(&Ignore);
              const uint64_t start_ns = ThreadCpuNs();
              BurnInUserCode(300 * kMs);
              outcome->values[0] = ThreadCpuNs() - start_ns;
              StopSampler();
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_EQ(outcome->status.source, GetParam());
  const double periods = static_cast<double>(outcome->values[0]) / kMs;
  const SamplerCounters& counters = outcome->counters;
  // Under load a tick seldom hits this thread, so that a timer's last periods are still to come.
  const double tolerance = GetParam() == SamplingSource::kCpuTimer ? 0.25 : 0.05;
  EXPECT_NEAR(static_cast<double>(counters.weight + counters.lost_periods), periods,
              tolerance * periods + 8);
  EXPECT_GT(counters.weight, periods / 2);
}

std::atomic<bool> raw_thread_has_ended{false};

int BurnInRawThread(void*) {
  BurnInUserCode(100 * kMs);
  raw_thread_has_ended = true;
  syscall(SYS_exit, 0);
  return 0;
}

TEST_P(SamplerTest, ARawThreadIsNotTakenForTheOneWhoseDataItHas) {
  ASSERT_EQ(RunInChild([] {
              Start([](const Sample&) { outcome->values[gettid() == getpid() ? 0 : 1] += 1; });
              PrepareToCreateRawThread();
              static char stack[1 << 17];
              clone(
                  BurnInRawThread, stack + sizeof(stack),
                  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
                  nullptr);
              BurnInUserCode(100 * kMs);
              while (!raw_thread_has_ended) sched_yield();
              StopSampler();
            }),
            0);
  EXPECT_GT(outcome->values[0], 0u);
  EXPECT_EQ(outcome->values[1], 0u);
}

TEST_P(SamplerTest, TimeLeftOutIsNotSampled) {
  ASSERT_EQ(RunInChild([] {
              SamplerOptions options;
              options.sampling_period_ns = kMs;
              options.source = GetParam();
              options.callback = &Ignore;
              outcome->status = StartSampler(options);
              const uint64_t start_ns = ThreadCpuNs();
              for (int i = 0; i < 100; ++i) {
                const uint64_t before_ns = ThreadCpuNs();
                BurnInUserCode(2 * kMs);
                LeaveOutCpuTime(ThreadCpuNs() - before_ns);
                BurnInUserCode(2 * kMs);
              }
              outcome->values[0] = ThreadCpuNs() - start_ns;
              StopSampler();
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  const double periods = static_cast<double>(outcome->values[0]) / kMs;
  const SamplerCounters& counters = outcome->counters;
  if (outcome->status.kernel_included) {
    EXPECT_NEAR(static_cast<double>(counters.weight), periods / 2, periods / 8);
    return;
  }
  // Of periods that were lost, and of no others, half of the time is left out. How many are lost
  // depends on what else runs.
  const auto counted = static_cast<double>(counters.weight + counters.lost_periods);
  EXPECT_GT(counted, periods / 2 - periods / 8);
  EXPECT_LT(counted, periods + periods / 8);
}

// Makes no system call: a CPU timer's signal may come when one returns.
__attribute__((noinline, section("until_sampled"))) void LoopUntilSampled(uint64_t samples) {
  constexpr uint64_t kMostTurns = 20'000'000'000;
  for (uint64_t i = 0; i < kMostTurns && outcome->values[0] + outcome->values[1] < samples; ++i) {
  }
}

TEST_P(SamplerTest, SampledAddressIsWhereTheThreadWas) {
  static auto in_loop = [](uint64_t ip) {
    return ip >= reinterpret_cast<uint64_t>(__start_until_sampled) &&
           ip < reinterpret_cast<uint64_t>(__stop_until_sampled);
  };
  ASSERT_EQ(RunInChild([] {
              Start(+[](const Sample& sample) {
                ++outcome->values[in_loop(sample.ip) ? 0 : 1];
                const auto& registers = sample.context->uc_mcontext.gregs;
                if (static_cast<uint64_t>(registers[REG_RIP]) != sample.ip) ++outcome->values[2];
              });
              LoopUntilSampled(50);
            }),
            0);
  EXPECT_GT(outcome->values[0], 9 * outcome->values[1]);
  EXPECT_EQ(outcome->values[2], 0u);
}

TEST_P(SamplerTest, EveryThreadIsSampledHoweverItWasMade) {
  static auto body = [](int index) {
    StartThreadSampling();
    BurnUntilSampled(5);
    StopThreadSampling();
    outcome->values[index] = periods_here;
  };
  ASSERT_EQ(RunInChild([] {
              Start(&CountHere);
              std::vector<std::thread> threads;
              threads.reserve(3);
              for (int i = 0; i < 3; ++i) threads.emplace_back(body, i);
              thrd_t c11_thread;
              thrd_create(
                  &c11_thread, +[](void*) { return body(3), 0; }, nullptr);
              thrd_join(c11_thread, nullptr);
              for (std::thread& thread : threads) thread.join();
            }),
            0);
  for (int i = 0; i < 4; ++i) EXPECT_GE(outcome->values[i], 5u) << i;
}

TEST_P(SamplerTest, NoCallbackComesAfterStop) {
  ASSERT_EQ(RunInChild([] {
              Start(+[](const Sample&) { ++outcome->values[0]; });
              std::atomic<bool> stopped{false};
              std::thread other([&stopped] {
                StartThreadSampling();
                while (!stopped) BurnInUserCode(kMs);
                outcome->values[2] = outcome->values[0].load();
                BurnInUserCode(50 * kMs);
              });
              BurnInUserCode(50 * kMs);
              StopSampler();
              while (ActiveSampleCallbacks() != 0) sched_yield();
              outcome->values[1] = outcome->values[0].load();
              stopped = true;
              BurnInUserCode(50 * kMs);
              other.join();
            }),
            0);
  EXPECT_GT(outcome->values[1], 0u);
  EXPECT_EQ(outcome->values[0], outcome->values[1]);
  EXPECT_EQ(outcome->values[0], outcome->values[2]);
}

TEST_P(SamplerTest, ThreadThatHasStoppedIsNotSampled) {
  ASSERT_EQ(RunInChild([] {
              Start(&CountHere);
              StopThreadSampling();
              periods_here = 0;
              BurnInUserCode(60 * kMs);
              outcome->values[0] = periods_here;
              StartThreadSampling();
              BurnUntilSampled(5);
              outcome->values[1] = periods_here;
            }),
            0);
  EXPECT_EQ(outcome->values[0], 0u);
  EXPECT_GT(outcome->values[1], 5u);
}

TEST_P(SamplerTest, ErrnoOfTheProgramIsKept) {
  ASSERT_EQ(RunInChild([] {
              Start(+[](const Sample&) { errno = EDOM; });
              errno = 0;
              for (volatile uint64_t i = 0; i < uint64_t{300} * 1000 * 1000; i = i + 1) {
              }
              outcome->values[0] = static_cast<uint64_t>(errno);
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_GT(outcome->counters.samples, 0u);
  EXPECT_EQ(outcome->values[0], 0u);
}

TEST_P(SamplerTest, ThreadThatBlocksTheSignalLivesOn) {
  ASSERT_EQ(RunInChild([] {
              Start(&CountHere);
              sigset_t all, old;
              sigfillset(&all);
              sigprocmask(SIG_SETMASK, &all, &old);
              sigset_t pending;
              sigemptyset(&pending);
              for (int i = 0; i < 100 && sigismember(&pending, kSamplingSignal) != 1; ++i) {
                BurnInUserCode(10 * kMs);
                sigpending(&pending);
              }
              sigprocmask(SIG_SETMASK, &old, nullptr);
              outcome->values[0] = periods_here;
            }),
            0);
  EXPECT_GT(outcome->values[0], 0u);
}

TEST_P(SamplerTest, NestedSampleIsDroppedAndCounted) {
  static thread_local int depth = 0;
  ASSERT_EQ(RunInChild([] {
              Start(+[](const Sample&) {
                if (++depth > 1) ++outcome->values[0];
                sigset_t mask;
                sigemptyset(&mask);
                sigaddset(&mask, kSamplingSignal);
                sigprocmask(SIG_UNBLOCK, &mask, nullptr);
                BurnInUserCode(20 * kMs);
                --depth;
              });
              for (int i = 0; i < 50 && ReadSamplerCounters().dropped == 0; ++i) {
                BurnInUserCode(60 * kMs);
              }
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_GT(outcome->counters.dropped, 0u);
  EXPECT_EQ(outcome->values[0], 0u);
}

TEST_P(SamplerTest, SamplingGoesOnAfterTheProgramJumpedOutOfACallback) {
  static sigjmp_buf before;
  ASSERT_EQ(RunInChild([] {
              signal(
                  SIGALRM, +[](int) { siglongjmp(before, 1); });
              Start(+[](const Sample&) {
                if (++outcome->values[0] == 1) raise(SIGALRM);
              });
              if (sigsetjmp(before, 1) == 0) BurnInUserCode(200 * kMs);
              BurnInUserCode(300 * kMs);
            }),
            0);
  EXPECT_GT(outcome->values[0], 2u);
}

TEST_P(SamplerTest, ForeignSignalsReachTheirCallback) {
  ASSERT_EQ(RunInChild([] {
              SamplerOptions options;
              options.source = GetParam();
              options.exclude_kernel = true;
              options.callback = &Ignore;
              options.foreign_signal = +[](int signo, siginfo_t* info, void* context) {
                if (signo == SIGTRAP && context != nullptr) ++outcome->values[0];
                if (info->si_code == SI_TKILL) ++outcome->values[1];
              };
              StartSampler(options);
              raise(SIGTRAP);
              asm volatile("int3");
              outcome->counters = ReadSamplerCounters();
            }),
            0);
  EXPECT_EQ(outcome->values[0], 2u);
  EXPECT_EQ(outcome->values[1], 1u);
  EXPECT_EQ(outcome->counters.foreign_signals, 2u);
}

TEST_P(SamplerTest, ForeignSignalWithoutCallbackTakesItsDefaultAction) {
  const int status = RunInChild([] {
    Start(&Ignore);
    asm volatile("int3");
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTRAP);
}

uint64_t CountInterrupted(long result) { return result < 0 && errno == EINTR ? 1 : 0; }

// poll, epoll_wait, nanosleep and futex are never restarted after a handler (signal(7)), so the
// only remedy is that no sample comes amid one.
TEST_P(SamplerTest, BlockingCallsAreNotInterrupted) {
  ASSERT_EQ(RunInChild([] {
              Start(&CountHere, kMs / 10);
              int pipe_ends[2];
              if (pipe(pipe_ends) != 0) _exit(3);
              const int epoll = epoll_create1(EPOLL_CLOEXEC);
              std::thread writer([&pipe_ends] {
                StartThreadSampling();
                for (int i = 0; i < 150; ++i) {
                  BurnInUserCode(kMs);
                  outcome->values[0] += CountInterrupted(write(pipe_ends[1], "x", 1));
                }
                StopThreadSampling();
              });
              for (int i = 0; i < 150; ++i) {
                char byte;
                uint32_t word = 0;
                const timespec short_time = {0, 100'000};
                epoll_event event;
                pollfd nothing = {-1, 0, 0};
                outcome->values[0] += CountInterrupted(read(pipe_ends[0], &byte, 1));
                BurnInUserCode(kMs / 10);
                outcome->values[1] += CountInterrupted(nanosleep(&short_time, nullptr));
                BurnInUserCode(kMs / 10);
                outcome->values[2] += CountInterrupted(poll(&nothing, 1, 1));
                BurnInUserCode(kMs / 10);
                outcome->values[3] += CountInterrupted(epoll_wait(epoll, &event, 1, 1));
                BurnInUserCode(kMs / 10);
                outcome->values[4] += CountInterrupted(
                    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &short_time, nullptr, 0));
              }
              writer.join();
              outcome->values[5] = periods_here;
            }),
            0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(outcome->values[i], 0u) << i;
  EXPECT_GT(outcome->values[5], 5u);
}

}  // namespace
}  // namespace coz::sampler
