#include "coz/supervisor/target/source_choice.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coz/base/clock.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

class SourceChoiceTest : public ::testing::Test {
 protected:
  SourceChoiceTest() : control_(testing::ZeroedControl()) {
    shared::ThreadSlot& slot = control_->threads[control_->threads_high_water++];
    slot.pid = getpid();
    slot.tid = static_cast<int32_t>(syscall(SYS_gettid));
    slot.state = shared::ThreadState::kRunning;
  }

  // This thread comes onto a CPU so often at least. Some sleeps are over before it has left it.
  static void Switch(int times) {
    const long end = VoluntarySwitches() + times;
    while (VoluntarySwitches() < end) usleep(1);
  }

  static long VoluntarySwitches() {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
  }

  testing::OwnedControl control_;
};

TEST_F(SourceChoiceTest, MeterCountsSwitchesSinceTheLastRead) {
  SwitchMeter meter(control_.get());
  Switch(500);
  EXPECT_FALSE(meter.Read(kNsPerSecond).has_value()) << "what was before is nobody's";
  Switch(100);
  const std::optional<SwitchRates> rates = meter.Read(kNsPerSecond + kNsPerSecond / 2);
  ASSERT_TRUE(rates.has_value());
  EXPECT_GE(rates->switches_per_second, 200);
  EXPECT_LT(rates->switches_per_second, 900) << "those before the first read are in it";
  EXPECT_GT(rates->cpu_ns_per_second, 0);
}

TEST_F(SourceChoiceTest, ThreadsThatAreGoneCountNothing) {
  control_->threads[0].tid = 1 << 30;
  SwitchMeter meter(control_.get());
  meter.Read(kNsPerSecond);
  EXPECT_EQ(meter.Read(2 * kNsPerSecond)->switches_per_second, 0);
}

TEST(IsTooDearTest, IsWhatTakesAFiftiethOfTheCpuTimeAndOfACpu) {
  const SwitchRates postgresql = {18'000, 1.58e9, 0};
  EXPECT_TRUE(IsTooDear(postgresql, 16'000));
  EXPECT_FALSE(IsTooDear(postgresql, 1'500));
  const SwitchRates nginx = {8'000, 1.83e9, 0};
  EXPECT_TRUE(IsTooDear(nginx, 10'000));
  const SwitchRates many_cpus = {18'000, 16e9, 0};
  EXPECT_FALSE(IsTooDear(many_cpus, 16'000)) << "1.8 % of its time";
  const SwitchRates mostly_idle = {400, 0.05e9, 0};
  EXPECT_FALSE(IsTooDear(mostly_idle, 40'000)) << "1.6 % of a CPU";
}

TEST(ClocksAreCheapTest, IsWhatTakesLittleAtSwitchesAndExpiries) {
  const SourceChoice::Finding nginx = {{4'700, 1.81e9, 0}, 11'000, 0, false};
  EXPECT_TRUE(ClocksAreCheap(nginx, {1'500, 2'000}, kNsPerMs));
  EXPECT_FALSE(ClocksAreCheap(nginx, {0, 2'000}, kNsPerMs)) << "not measured";
  EXPECT_FALSE(ClocksAreCheap(nginx, {1'500, 50'000}, kNsPerMs)) << "interrupts are dear";
  EXPECT_TRUE(ClocksAreCheap(nginx, {1'500, 50'000}, 4 * kNsPerMs));
  const SourceChoice::Finding memcached = {{22'300, 1.77e9, 0}, 7'000, 0, false};
  EXPECT_FALSE(ClocksAreCheap(memcached, {1'500, 2'000}, kNsPerMs));
  const SourceChoice::Finding samples_are_dear = {{4'700, 1.81e9, 0}, 11'000, 0.08, false};
  EXPECT_FALSE(ClocksAreCheap(samples_are_dear, {1'500, 2'000}, kNsPerMs)) << "timers take fewer";
}

TEST(ClocksAreCheapTest, NewThreadsOnlyAskWhetherTheyAreCheaperThanEvents) {
  const SourceChoice::Finding many_threads = {{40'000, 1.2e9, 2'000}, 8'000, 0, true};
  EXPECT_TRUE(ClocksAreCheap(many_threads, {1'500, 50'000}, kNsPerMs));
  EXPECT_FALSE(ClocksAreCheap(many_threads, {9'000, 2'000}, kNsPerMs));
  EXPECT_FALSE(ClocksAreCheap(many_threads, {0, 2'000}, kNsPerMs)) << "not measured";
}

TEST_F(SourceChoiceTest, NewThreadsMakeAFindingOnTheirOwn) {
  SourceChoice choice(control_.get(), 10'000, [] { return uint64_t{0}; });
  uint64_t now_ns = kNsPerSecond;
  const auto look = [&](uint32_t threads, SourceChoice::By by) {
    control_->threads_started += threads;  // each takes 60 us, and all of them a tenth from 333 on
    now_ns += 200 * kNsPerMs;
    return choice.Poll(now_ns, by);
  };
  EXPECT_FALSE(look(400, SourceChoice::By::kThreads).has_value()) << "the first look has no rates";
  EXPECT_FALSE(look(400, SourceChoice::By::kThreads).has_value());
  EXPECT_FALSE(look(300, SourceChoice::By::kThreads).has_value()) << "too few";
  EXPECT_FALSE(look(400, SourceChoice::By::kThreads).has_value());
  const std::optional<SourceChoice::Finding> finding = look(400, SourceChoice::By::kThreads);
  ASSERT_TRUE(finding.has_value());
  EXPECT_TRUE(finding->by_threads);
  EXPECT_EQ(finding->rates.threads_per_second, 2000);
  EXPECT_FALSE(look(400, SourceChoice::By::kThreads).has_value()) << "once is enough";

  choice.IgnoreThreads();
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(look(2000, SourceChoice::By::kAnything).has_value());
  }
  choice.NoteSlowdown(0.06);
  const std::optional<SourceChoice::Finding> slow = look(200, SourceChoice::By::kAnything);
  ASSERT_TRUE(slow.has_value()) << "the rest tells still";
  EXPECT_FALSE(slow->by_threads);
}

TEST_F(SourceChoiceTest, SwitchesTellNothingWhereOnlyThreadsMay) {
  SourceChoice choice(control_.get(), kNsPerMs, [] { return uint64_t{0}; });
  choice.NoteSlowdown(0.06);
  for (uint64_t i = 1; i < 6; ++i) {
    Switch(1000);
    EXPECT_FALSE(choice.Poll(i * 200 * kNsPerMs, SourceChoice::By::kThreads).has_value());
  }
}

TEST_F(SourceChoiceTest, TwoDearLooksMakeAFinding) {
  int measured = 0;
  SourceChoice choice(control_.get(), std::nullopt, [&measured] {
    ++measured;
    return kNsPerMs;
  });
  uint64_t now_ns = kNsPerSecond;
  const auto look = [&](int switches) {
    Switch(switches);
    now_ns += 200 * kNsPerMs;
    return choice.Poll(now_ns);
  };
  EXPECT_FALSE(look(0).has_value());
  EXPECT_FALSE(look(2).has_value());
  EXPECT_EQ(measured, 0) << "so few cannot matter";
  constexpr int kMany = 1000;
  EXPECT_FALSE(look(kMany).has_value());
  EXPECT_EQ(measured, 1);
  EXPECT_FALSE(look(2).has_value());
  EXPECT_FALSE(look(kMany).has_value()) << "they are not two in a row";
  const std::optional<SourceChoice::Finding> finding = look(kMany);
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->switch_cost_ns, kNsPerMs);
  EXPECT_GE(finding->rates.switches_per_second, 5 * kMany);
  EXPECT_EQ(measured, 1);
  EXPECT_FALSE(look(kMany).has_value()) << "once is enough";
}

TEST_F(SourceChoiceTest, SlowdownThatWasMeasuredMakesAFindingWhateverSwitchesCost) {
  SourceChoice choice(control_.get(), 0, [] { return uint64_t{0}; });
  EXPECT_FALSE(choice.Poll(kNsPerSecond).has_value()) << "the first look has no rates";
  choice.NoteSlowdown(0.04);
  EXPECT_FALSE(choice.Poll(2 * kNsPerSecond).has_value());
  choice.NoteSlowdown(0.06);
  const std::optional<SourceChoice::Finding> finding = choice.Poll(3 * kNsPerSecond);
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->slowdown, 0.06);
  EXPECT_FALSE(choice.Poll(4 * kNsPerSecond).has_value()) << "once is enough";
}

TEST_F(SourceChoiceTest, WhatCostsNothingIsNeverTooDear) {
  SourceChoice choice(control_.get(), 0, [] { return ~uint64_t{0}; });
  for (uint64_t i = 1; i < 6; ++i) {
    Switch(1000);
    EXPECT_FALSE(choice.Poll(i * 200 * kNsPerMs).has_value());
  }
}

}  // namespace
}  // namespace coz::supervisor
