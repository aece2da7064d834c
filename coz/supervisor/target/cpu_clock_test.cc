// Clocks of the CPUs, and threads that are sampled by them. Each such test samples in a child and
// judges in the parent.
#include "coz/supervisor/target/cpu_clock.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "coz/sampler/sampler.h"
#include "coz/sampler/testing/sampler_fixture.h"
#include "coz/testing/cpu_clocks_lock.h"
#include "coz/testing/in_child.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using sampler::BurnInUserCode;
using sampler::CountHere;
using sampler::kMs;
using sampler::Outcome;
using sampler::outcome;
using sampler::periods_here;
using sampler::SamplingSource;
using ::testing::HasSubstr;
using testing::RunInChild;

class FindClockExpiryTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole = root_ + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }

  const std::string root_ = testing::TemporaryFolder() + "/root";
  static constexpr char kId[] = "/sys/kernel/tracing/events/timer/hrtimer_expire_entry/id";
  static constexpr char kSymbols[] = "/proc/kallsyms";
};

TEST_F(FindClockExpiryTest, ReadsNumberAndAddress) {
  Write(kId, "317\n");
  Write(kSymbols,
        "ffffffff81000000 T _text\nffffffff81234560 t perf_swevent_hrtimer_all\n"
        "ffffffff8123abc0 t perf_swevent_hrtimer.part.0\nffffffffc0000000 t x\t[module]\n");
  const auto found = FindClockExpiry(root_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->tracepoint, 317u);
  EXPECT_EQ(found->function, 0xffffffff8123abc0u);
}

TEST_F(FindClockExpiryTest, SaysHowToMountWhatIsNotThere) {
  EXPECT_THAT(
      FindClockExpiry(root_).status().message(),
      HasSubstr("hrtimer_expire_entry; mount it with: sudo mount -t tracefs tracefs /sys/kernel"));
  std::filesystem::create_directories(root_ + "/sys/kernel/tracing/events");
  EXPECT_THAT(FindClockExpiry(root_).status().message(), HasSubstr("; run coz as root, or"));
}

TEST_F(FindClockExpiryTest, SaysHowToShowAddressesToRoot) {
  Write(kId, "317\n");
  Write(kSymbols, "0000000000000000 t perf_swevent_hrtimer\n");
  EXPECT_THAT(FindClockExpiry(root_).status().message(), HasSubstr("; run coz as root, or"));
  Write("/proc/sys/kernel/kptr_restrict", "2\n");
  EXPECT_THAT(FindClockExpiry(root_).status().message(),
              HasSubstr("; show them to root with: sudo sysctl kernel.kptr_restrict=1, or"));
}

TEST_F(FindClockExpiryTest, SaysWhatIsHidden) {
  EXPECT_THAT(FindClockExpiry(root_).status().message(), HasSubstr("hrtimer_expire_entry"));
  Write(kId, "317\n");
  Write(kSymbols, "0000000000000000 t perf_swevent_hrtimer\n");
  EXPECT_THAT(FindClockExpiry(root_).status().message(), HasSubstr("--sampler=cpu-timer"));
  EXPECT_THAT(FindClockExpiry(root_).status().message(), HasSubstr("/proc/kallsyms"));
}

class CpuClockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto clock = CpuClock::Open(kMs);
    if (!clock.ok()) GTEST_SKIP() << clock.status();
    outcome = &*shared_;
  }

  // In the child. `callback` is called in threads that start from here on, too.
  static std::unique_ptr<CpuClock> Start(sampler::SampleCallback callback,
                                         SamplingSource source = SamplingSource::kCpuClock) {
    auto clock = CpuClock::Open(kMs);
    if (!clock.ok()) _exit(2);
    sampler::SamplerOptions options;
    options.sampling_period_ns = kMs;
    options.source = source;
    options.expiry = (*clock)->expiry();
    options.callback = callback;
    outcome->status = sampler::StartSampler(options);
    (*clock)->Run(true);
    return *std::move(clock);
  }

  testing::CpuClocksLock lock_;
  testing::SharedValue<Outcome> shared_;
};

// Of the CPU time that has passed meanwhile, in percent.
template <typename Function>
uint64_t PercentSampled(Function function) {
  const uint64_t start_ns = sampler::ThreadCpuNs();
  const uint64_t before = periods_here;
  function();
  return 100 * (periods_here - before) * kMs / (sampler::ThreadCpuNs() - start_ns);
}

TEST_F(CpuClockTest, SamplesStandForTheCpuTimeOfEachThread) {
  ASSERT_EQ(RunInChild([] {
              const auto clock = Start(&CountHere);
              std::thread other([] {
                sampler::StartThreadSampling();
                outcome->values[1] = PercentSampled([] { BurnInUserCode(300 * kMs); });
                sampler::StopThreadSampling();
              });
              outcome->values[0] = PercentSampled([] { BurnInUserCode(300 * kMs); });
              other.join();
              sampler::StopSampler();
              return 0;
            }),
            0);
  EXPECT_EQ(outcome->status.source, SamplingSource::kCpuClock);
  for (const int thread : {0, 1}) {
    EXPECT_GT(outcome->values[thread], 75u);
    EXPECT_LT(outcome->values[thread], 125u);
  }
}

TEST_F(CpuClockTest, SamplesStandForCpuTimeWhilePeriodsChange) {
  ASSERT_EQ(RunInChild([] {
              const auto clock = Start(&CountHere);
              outcome->values[0] = PercentSampled([&clock] {
                for (uint64_t i = 0; i < 5; ++i) {
                  clock->Vary(i * 1000 * kMs);
                  BurnInUserCode(100 * kMs);
                }
              });
              return 0;
            }),
            0);
  EXPECT_GT(outcome->values[0], 75u);
  EXPECT_LT(outcome->values[0], 125u);
}

TEST(ClockPeriodTest, IsAsOftenAsTheWholeOneInTheMean) {
  double expiries = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t period_ns = ClockPeriodNear(kMs, (i + 0.5) / 1000);
    EXPECT_GT(period_ns, 85 * kMs / 100);
    EXPECT_LT(period_ns, 115 * kMs / 100);
    expiries += static_cast<double>(kMs) / static_cast<double>(period_ns);
  }
  EXPECT_NEAR(expiries, 1000, 0.1);
  EXPECT_LT(ClockPeriodNear(kMs, 0.9), ClockPeriodNear(kMs, 0.1));
}

// Whoever waits after each tenth of a period would never be sampled by a clock of its own that
// begins anew each time.
TEST_F(CpuClockTest, FindsThreadsThatWaitOften) {
  ASSERT_EQ(RunInChild([] {
              const auto clock = Start(&CountHere);
              outcome->values[0] = PercentSampled([] {
                const uint64_t end_ns = sampler::ThreadCpuNs() + 300 * kMs;
                while (sampler::ThreadCpuNs() < end_ns) {
                  const uint64_t round_ns = sampler::ThreadCpuNs() + kMs / 10;
                  while (sampler::ThreadCpuNs() < round_ns) {
                  }
                  const timespec moment = {0, 137'000};
                  nanosleep(&moment, nullptr);
                }
              });
              return 0;
            }),
            0);
  EXPECT_GT(outcome->values[0], 50u);
  EXPECT_LT(outcome->values[0], 150u);
}

std::atomic<uint64_t> periods_of_all;
void CountAll(const sampler::Sample& sample) { periods_of_all += sample.weight; }

TEST_F(CpuClockTest, FindsThreadsThatAreShorterThanAPeriod) {
  ASSERT_EQ(RunInChild([] {
              const auto clock = Start(&CountAll);
              std::atomic<uint64_t> cpu_ns{0};
              const uint64_t before = periods_of_all;
              for (int i = 0; i < 1500; ++i) {
                std::thread([&cpu_ns] {
                  sampler::StartThreadSampling();
                  while (sampler::ThreadCpuNs() < kMs / 4) {
                  }
                  sampler::StopThreadSampling();
                  cpu_ns += sampler::ThreadCpuNs();
                }).join();
              }
              outcome->values[0] = 100 * (periods_of_all - before) * kMs / cpu_ns;
              return 0;
            }),
            0);
  // What creates and joins them has samples, too.
  EXPECT_GT(outcome->values[0], 60u);
  EXPECT_LT(outcome->values[0], 300u);
}

// So that all of them impose its delay, and not only the sampled one.
TEST_F(CpuClockTest, FirstSampleOfAShortThreadStandsForSeveral) {
  static std::atomic<uint64_t> most_threads;
  ASSERT_EQ(RunInChild([] {
              const auto clock = Start([](const sampler::Sample& sample) {
                if (sample.threads > most_threads) most_threads = sample.threads;
              });
              std::atomic<uint64_t> group{0};
              for (int i = 0; i < 500; ++i) {
                std::thread([&group] {
                  group = sampler::StartThreadSampling();
                  while (sampler::ThreadCpuNs() < kMs / 4) {
                  }
                  sampler::StopThreadSampling();
                }).join();
              }
              outcome->values[0] = most_threads.load();
              outcome->values[1] = group.load();
              return 0;
            }),
            0);
  EXPECT_GE(outcome->values[0], 2u);
  EXPECT_LE(outcome->values[0], 4u);
  EXPECT_GE(outcome->values[1], 3u) << "each takes a share, be it sampled or not";
}

TEST_F(CpuClockTest, CallWeighsAllOfItsPeriods) {
  ASSERT_EQ(RunInChild([] {
              const auto clock = Start(&CountHere);
              const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
              std::vector<char> room(256 << 20);  // some tens of periods
              outcome->values[0] = PercentSampled([&] {
                for (int i = 0; i < 8; ++i) {
                  if (read(zeros, room.data(), room.size()) < 0) _exit(2);
                }
              });
              return 0;
            }),
            0);
  EXPECT_GT(outcome->values[0], 50u);
}

TEST_F(CpuClockTest, NobodyIsSampledWhileItStandsStill) {
  ASSERT_EQ(RunInChild([] {
              const auto clock = Start(&CountHere);
              BurnInUserCode(20 * kMs);
              clock->Run(false);
              const uint64_t before = periods_here;
              BurnInUserCode(50 * kMs);
              outcome->values[0] = periods_here - before;
              clock->Run(true);
              BurnInUserCode(50 * kMs);
              outcome->values[1] = periods_here - before;
              return 0;
            }),
            0);
  EXPECT_LE(outcome->values[0], 1u) << "one may have been under way";
  EXPECT_GT(outcome->values[1], 20u);
}

TEST_F(CpuClockTest, CallsThatWaitAreNotInterrupted) {
  ASSERT_EQ(RunInChild([] {
              const auto clock = Start(&CountHere);
              for (int i = 0; i < 2000; ++i) {
                const timespec moment = {0, 50'000};
                if (nanosleep(&moment, nullptr) != 0) return 1;
              }
              return 0;
            }),
            0);
}

// Of the thread that is there at the change, which the thread that changes the source samples.
std::atomic<int32_t> other_tid;
thread_local bool is_to_change = false;
sampler::ClockExpiry expiry;

void CountAndChange(const sampler::Sample& sample) {
  periods_here += sample.weight;
  if (!is_to_change || sampler::ChangeToCpuClock(expiry) != sampler::ClockChange::kBegun) return;
  ++outcome->values[2];
  sampler::SampleThreadByCpuClock(other_tid);
}

TEST_F(CpuClockTest, TakesOverFromPerfEvents) {
  ASSERT_EQ(RunInChild([] {
              const auto clock = Start(&CountAndChange, SamplingSource::kPerfSigtrap);
              expiry = clock->expiry();
              std::atomic<bool> has_changed{false};
              std::thread other([&] {
                other_tid = static_cast<int32_t>(syscall(SYS_gettid));
                sampler::StartThreadSampling();
                while (!has_changed) BurnInUserCode(kMs);
                std::thread child([] {  // inherits the event
                  sampler::StartThreadSampling();
                  outcome->values[3] = PercentSampled([] { BurnInUserCode(300 * kMs); });
                  sampler::StopThreadSampling();
                });
                outcome->values[1] = PercentSampled([] { BurnInUserCode(300 * kMs); });
                child.join();
                sampler::StopThreadSampling();
              });
              while (other_tid == 0) usleep(100);
              is_to_change = true;
              while (outcome->values[2] == 0) BurnInUserCode(kMs);
              has_changed = true;
              outcome->values[0] = PercentSampled([] { BurnInUserCode(300 * kMs); });
              other.join();
              return 0;
            }),
            0);
  EXPECT_EQ(outcome->values[2], 1u);
  for (const int thread : {0, 1, 3}) {
    SCOPED_TRACE(thread);
    EXPECT_GT(outcome->values[thread], 75u);
    EXPECT_LT(outcome->values[thread], 125u);
  }
}

TEST_F(CpuClockTest, IsNoSourceWhereTheKernelIsExcluded) {
  ASSERT_EQ(RunInChild([] {
              sampler::SamplerOptions options;
              options.source = SamplingSource::kCpuClock;
              options.exclude_kernel = true;
              options.callback = &CountHere;
              if (sampler::StartSampler(options).source != SamplingSource::kNone) return 1;
              options.source = SamplingSource::kPerfSigtrap;
              if (sampler::StartSampler(options).source != SamplingSource::kPerfSigtrap) return 2;
              const bool is_refused =
                  sampler::ChangeToCpuClock({}) == sampler::ClockChange::kRefused;
              return is_refused ? 0 : 3;
            }),
            0);
}

// A sample that comes in the middle of the change of programs would end the new one.
TEST_F(CpuClockTest, NoSampleReachesTheNextProgram) {
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(RunInChild([] {
                const auto clock = Start(&CountHere);
                BurnInUserCode(kMs);
                sampler::PrepareForExec();
                execl("/bin/true", "true", nullptr);
                return 1;
              }),
              0);
  }
}

TEST_F(CpuClockTest, SamplingGoesOnWhereAnExecHasFailed) {
  ASSERT_EQ(RunInChild([] {
              const auto clock = Start(&CountHere);
              sampler::PrepareForExec();
              if (execl("/nonexistent", "x", nullptr) != -1) return 1;
              sampler::ResumeAfterFailedExec();
              outcome->values[0] = PercentSampled([] { BurnInUserCode(200 * kMs); });
              return 0;
            }),
            0);
  EXPECT_GT(outcome->values[0], 75u);
}

}  // namespace
}  // namespace coz::supervisor
