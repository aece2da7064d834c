#include "coz/supervisor/target/running_session.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "coz/base/unique_fd.h"
#include "coz/shared/control_mapping.h"
#include "coz/supervisor/target/shared_control.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

// The test's process is the supervisor's.
bool HasSession() { return FindSession(getpid()).ok(); }

// A file of others that looks like a session's.
class FalseSessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(shared::FormatControl(file_.get()));
    block_.reset(shared::MapControl(file_.get(), sizeof(shared::ControlBlock)).control);
    ASSERT_NE(block_, nullptr);
    block_->supervisor_pid = getpid();
  }

  bool Seal(int seals) { return fcntl(file_.get(), F_ADD_SEALS, seals) == 0; }

  UniqueFd file_{memfd_create("coz-control", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  struct Release {
    void operator()(shared::ControlBlock* block) const { munmap(block, sizeof(*block)); }
  };
  std::unique_ptr<shared::ControlBlock, Release> block_;
};

TEST(RunningSessionTest, FindsTheBlockThatItsSupervisorHas) {
  EXPECT_FALSE(HasSession());
  const absl::StatusOr<SharedControl> control = SharedControl::Create();
  ASSERT_TRUE(control.ok()) << control.status();
  const absl::StatusOr<SessionView> session = FindSession(getpid());
  ASSERT_TRUE(session.ok()) << session.status();
  control->block().start_ns = 7;
  EXPECT_EQ((*session)->start_ns, 7u);
}

TEST(RunningSessionTest, FindsTheBlockByAProcessThatHasASlot) {
  const absl::StatusOr<SharedControl> control = SharedControl::Create();
  ASSERT_TRUE(control.ok()) << control.status();
  EXPECT_FALSE(FindSession(getppid()).ok());
  control->block().processes_high_water = 1;
  control->block().processes[0].pid = getppid();
  EXPECT_FALSE(FindSession(getppid()).ok()) << "the slot is free";
  control->block().processes[0].state = shared::ProcessState::kRunning;
  EXPECT_TRUE(FindSession(getppid()).ok());
}

// Its owner could end coz by shortening it.
TEST_F(FalseSessionTest, AFileThatMayBeShortenedIsNone) {
  EXPECT_FALSE(HasSession());
  ASSERT_TRUE(Seal(F_SEAL_GROW));
  EXPECT_FALSE(HasSession());
  ASSERT_TRUE(Seal(F_SEAL_SHRINK));
  EXPECT_TRUE(HasSession());
}

TEST_F(FalseSessionTest, AFileThatIsTooShortIsNone) {
  ASSERT_EQ(ftruncate(file_.get(), sizeof(shared::ControlBlock) - 1), 0);
  ASSERT_TRUE(Seal(F_SEAL_SHRINK));
  EXPECT_FALSE(HasSession());
}

// A program of the session could otherwise pass off a block of its own for it.
TEST_F(FalseSessionTest, AFileOfWhoIsNotItsSupervisorIsNone) {
  ASSERT_TRUE(Seal(F_SEAL_SHRINK));
  block_->supervisor_pid = getppid();
  block_->processes_high_water = 1;
  block_->processes[0].pid = getpid();
  block_->processes[0].state = shared::ProcessState::kRunning;
  EXPECT_FALSE(HasSession());
  block_->supervisor_pid = getpid();
  EXPECT_TRUE(HasSession());
}

}  // namespace
}  // namespace coz::supervisor
