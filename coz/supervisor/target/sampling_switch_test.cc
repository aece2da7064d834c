#include "coz/supervisor/target/sampling_switch.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/status/statusor.h"
#include "coz/base/unique_fd.h"
#include "coz/sampler/perf_event.h"
#include "coz/supervisor/target/shared_control.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

constexpr uint64_t kNever = uint64_t{1} << 60;

// Takes a slot for the test's process, and returns the event in it, which counts its CPU time.
UniqueFd AddProcess(shared::ControlBlock* control) {
  sampler::PerfEventOptions options;
  options.sampling_period_ns = kNever;
  options.exclude_kernel = true;
  UniqueFd event(sampler::OpenTaskClock(options));
  shared::ProcessSlot& process = control->processes[control->processes_high_water++];
  process.pid = getpid();
  process.event.fd_plus_1 = event.get() + 1;
  process.event.event = sampler::PerfEventId(event.get());
  process.state = shared::ProcessState::kRunning;
  return event;
}

uint64_t Count(const UniqueFd& event) {
  uint64_t count = 0;
  EXPECT_EQ(read(event.get(), &count, sizeof(count)), static_cast<ssize_t>(sizeof(count)));
  return count;
}

// CPU time by the event while the test burns some.
uint64_t CountedBy(const UniqueFd& event) {
  const uint64_t before = Count(event);
  for (volatile int i = 0; i < 100000; i = i + 1) {
  }
  return Count(event) - before;
}

// The test is supervisor and program in one: its process has a slot.
class SamplingSwitchTest : public ::testing::Test {
 protected:
  SamplingSwitchTest() : control_(testing::ZeroedControl()), switch_(control_.get()) {
    control_->sampler_status.source = sampler::SamplingSource::kPerfSigtrap;
    event_ = AddProcess(control_.get());
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

  uint64_t Counted() { return CountedBy(event_); }

  testing::OwnedControl control_;
  SamplingSwitch switch_;
  UniqueFd event_;
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
  constexpr int kEvents = 20;
  std::vector<UniqueFd> events;
  events.reserve(kEvents);
  for (int i = 0; i < kEvents; ++i) events.push_back(AddProcess(control_.get()));
  for (const UniqueFd& event : events) ASSERT_EQ(sampler::EnablePerfEvent(event.get()), 0);
  HoldAll();
  ASSERT_TRUE(switch_.Suspend());
  EXPECT_GT(Held(), 0) << "not all are awaited, as that takes long";
  for (const UniqueFd& event : events) EXPECT_EQ(CountedBy(event), 0u);
  HoldAll();
  switch_.Resume();
  for (const UniqueFd& event : events) EXPECT_GT(CountedBy(event), 0u);
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

// A process is known for a second. One that leaves the profile within it may get events of others
// under the number of its own.
TEST(SamplingSwitchOfTreeTest, LeavesEventsAloneOfAProcessThatHasLeftTheProfile) {
  const absl::StatusOr<SharedControl> control = SharedControl::Create();
  ASSERT_TRUE(control.ok()) << control.status();
  shared::ControlBlock& block = control->block();
  int leave[2];
  int left[2];
  ASSERT_EQ(pipe(leave), 0);
  ASSERT_EQ(pipe(left), 0);
  block.sampler_status.source = sampler::SamplingSource::kPerfSigtrap;
  const UniqueFd event = AddProcess(&block);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    if (read(leave[0], &byte, 1) != 1) _exit(1);
    munmap(&block, sizeof(block));
    if (write(left[1], &byte, 1) != 1) _exit(1);
    for (;;) pause();
  }
  block.processes[0].pid = child;  // it has inherited the event under the same number
  SamplingSwitch sampling(&block);
  ASSERT_EQ(sampler::EnablePerfEvent(event.get()), 0);
  ASSERT_TRUE(sampling.Suspend());
  EXPECT_EQ(CountedBy(event), 0u);
  sampling.Resume();
  char byte = 0;
  ASSERT_EQ(write(leave[1], &byte, 1), 1);
  ASSERT_EQ(read(left[0], &byte, 1), 1);
  ASSERT_TRUE(sampling.Suspend());
  EXPECT_GT(CountedBy(event), 0u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace coz::supervisor
