#include "coz/supervisor/target/sampling_switch.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "coz/base/unique_fd.h"
#include "coz/sampler/perf_event.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

// The test is supervisor and program in one: its process has a slot, and an event that counts its
// CPU time.
class SamplingSwitchTest : public ::testing::Test {
 protected:
  SamplingSwitchTest()
      : control_(std::make_unique<shared::ControlBlock>()), switch_(control_.get()) {
    control_->sampler_status.source = sampler::SamplingSource::kPerfSigtrap;
    event_ = AddProcess();
  }

  // Takes a slot for the test's process, and returns the event in it.
  UniqueFd AddProcess() {
    sampler::PerfEventOptions options;
    options.sampling_period_ns = kNever;
    options.exclude_kernel = true;
    UniqueFd event(sampler::OpenTaskClock(options));
    shared::ProcessSlot& process = control_->processes[control_->processes_high_water++];
    process.pid = getpid();
    process.event.fd_plus_1 = event.get() + 1;
    process.event.event = sampler::PerfEventId(event.get());
    process.state = shared::ProcessState::kRunning;
    return event;
  }

  // As a process that was killed or stopped while it held its event.
  void HoldAll() {
    for (uint32_t i = 0; i < control_->processes_high_water; ++i) {
      control_->processes[i].event.held = 1;
    }
  }
  int Held() const {
    return static_cast<int>(
        std::count_if(std::begin(control_->processes), std::end(control_->processes),
                      [](const auto& process) { return process.event.held != 0; }));
  }

  // CPU time by the event while the test burns some.
  uint64_t Counted() { return Counted(event_); }
  static uint64_t Counted(const UniqueFd& event) {
    const uint64_t before = Count(event);
    for (volatile int i = 0; i < 100000; i = i + 1) {
    }
    return Count(event) - before;
  }

  static constexpr uint64_t kNever = uint64_t{1} << 60;
  std::unique_ptr<shared::ControlBlock> control_;
  SamplingSwitch switch_;
  UniqueFd event_;

 private:
  static uint64_t Count(const UniqueFd& event) {
    uint64_t count = 0;
    EXPECT_EQ(read(event.get(), &count, sizeof(count)), static_cast<ssize_t>(sizeof(count)));
    return count;
  }
};

TEST_F(SamplingSwitchTest, StopsTheEventUntilSamplingIsResumed) {
  ASSERT_EQ(sampler::EnablePerfEvent(event_.get()), 0);
  EXPECT_GT(Counted(), 0u);
  ASSERT_TRUE(switch_.Suspend());
  EXPECT_EQ(Counted(), 0u);
  switch_.Resume();
  EXPECT_GT(Counted(), 0u);
}

TEST_F(SamplingSwitchTest, StopsAllEventsThatAreHeldForEver) {
  std::vector<UniqueFd> events;
  for (int i = 0; i < 20; ++i) events.push_back(AddProcess());
  for (const UniqueFd& event : events) ASSERT_EQ(sampler::EnablePerfEvent(event.get()), 0);
  HoldAll();
  ASSERT_TRUE(switch_.Suspend());
  EXPECT_GT(Held(), 0) << "not all are awaited, as that takes long";
  for (const UniqueFd& event : events) EXPECT_EQ(Counted(event), 0u);
  HoldAll();
  switch_.Resume();
  for (const UniqueFd& event : events) EXPECT_GT(Counted(event), 0u);
}

TEST_F(SamplingSwitchTest, LeavesAnEventOfTheProgramAloneThatGotItsNumber) {
  ASSERT_EQ(sampler::EnablePerfEvent(event_.get()), 0);
  control_->processes[0].event.event += 1;
  EXPECT_TRUE(switch_.Suspend());
  EXPECT_GT(Counted(), 0u);
  switch_.Resume();
  EXPECT_GT(Counted(), 0u);
}

TEST_F(SamplingSwitchTest, GivesUpWhereSamplesComeFromTimers) {
  control_->use_cpu_timers = 1;
  EXPECT_FALSE(switch_.Suspend());
  EXPECT_FALSE(sampler::IsSuspended(control_->suspensions));
}

// The target names a process of others, and an event that it has.
TEST_F(SamplingSwitchTest, LeavesEventsOfProcessesAloneThatAreNotProfiled) {
  ASSERT_EQ(sampler::EnablePerfEvent(event_.get()), 0);
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  control_->processes[0].pid = child;  // it has inherited the event under the same number
  EXPECT_TRUE(switch_.Suspend());
  EXPECT_GT(Counted(), 0u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace coz::supervisor
