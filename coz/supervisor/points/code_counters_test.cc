#include "coz/supervisor/points/code_counters.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "coz/patch/place_plan.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/points/place_in_file.h"
#include "coz/supervisor/points/plan_in_file.h"
#include "coz/supervisor/target/mapped_code.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

// The test is supervisor and program in one: a block in private memory is its own process's.
class CodeCountersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<MappedCode> mapped = ReadMappedCode(getpid());
    ASSERT_FALSE(mapped.empty());
    PlaceInFile place;
    place.file = RealPath(mapped[0].path);
    place.code.function_offset = mapped[0].file_offset;
    place.code.file_offset = mapped[0].file_offset;
    PlacePlans plans;
    plans.best.way = patch::Way::kTrap;
    plans.best.original.resize(2);
    ASSERT_TRUE(counters_.Add("f", place, plans).has_value());
    counters_.RemoveAll();  // that code is to be restored is asked without a plan of it
  }

  void Enter(pid_t pid) {
    shared::ProcessSlot& process = control_->processes[0];
    control_->processes_high_water = 1;
    process.pid = pid;
    process.counters_fs_offset = 8;
    process.state = shared::ProcessState::kRunning;
    counters_.Poll();
  }

  testing::OwnedControl control_ = testing::ZeroedControl();
  CodeCounters counters_{control_.get()};
};

TEST_F(CodeCountersTest, AsksAProcessOfTheProfile) {
  Enter(getpid());
  EXPECT_EQ(control_->patch_request.pid, getpid());
  EXPECT_EQ(control_->patch_request.count, 1u);
}

// It runs the same program, so that its code lies where the place is looked for.
TEST_F(CodeCountersTest, AsksNoProcessOfOthers) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  Enter(child);
  EXPECT_EQ(control_->patch_request.pid, 0);
  EXPECT_EQ(control_->patch_request.count, 0u);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace coz::supervisor
