#include "coz/supervisor/points/outside_points.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "coz/base/clock.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/target/live_target.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

// Counted in the test's own program.
extern "C" __attribute__((noipa)) void VisitedByTest() { asm volatile(""); }

namespace coz::supervisor {
namespace {

int PerfEvents() {
  int events = 0;
  for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    events += std::filesystem::read_symlink(fd, closed) == "anon_inode:[perf_event]" ? 1 : 0;
  }
  return events;
}

// The test is supervisor and program in one: a block in private memory is its own process's.
class BreakpointTest : public ::testing::Test {
 protected:
  // Why there is nothing to test; empty: there is.
  std::string Prepare() {
    OutsidePointOptions options;
    options.progress = {"VisitedByTest"};
    options.source = VisitSource::kBreakpoint;
    auto points = OutsidePoints::Prepare(options, "/proc/self/exe", false, false);
    if (!points.ok()) {
      return "required breakpoints, actual: " + std::string(points.status().message());
    }
    points_ = *std::move(points);
    points_->AddTo(&target_, nullptr);
    return "";
  }

  // A program that begins, and waits for its breakpoints.
  const shared::ProcessSlot& Enter(pid_t pid) {
    shared::ProcessSlot& process = control_->processes[0];
    control_->processes_high_water = 1;
    process.pid = pid;
    process.image = 6;
    process.state = shared::ProcessState::kRunning;
    points_->Poll(*control_, MonotonicNowNs());
    return process;
  }

  testing::OwnedControl control_ = testing::ZeroedControl();
  LiveTarget target_{control_.get()};
  std::unique_ptr<OutsidePoints> points_;
};

TEST_F(BreakpointTest, AProgramThatBeginsGetsBreakpointsAndGoesOn) {
  COZ_REQUIRE_CAPABILITY(Prepare());
  VisitedByTest();
  EXPECT_EQ(Enter(getpid()).armed, 7u);
  EXPECT_GT(PerfEvents(), 0);
}

// It runs the same program, so that its code lies where the place is looked for.
TEST_F(BreakpointTest, AProcessOfOthersGetsNone) {
  COZ_REQUIRE_CAPABILITY(Prepare());
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  EXPECT_EQ(Enter(child).armed, 7u) << "a process of the profile must not wait for ever";
  EXPECT_EQ(PerfEvents(), 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace coz::supervisor
