#include "coz/supervisor/target/attached_tree.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "coz/base/clock.h"
#include "coz/shared/control_block.h"
#include "coz/supervisor/target/mapped_code.h"
#include "coz/supervisor/target/shared_control.h"
#include "coz/testing/capabilities.h"
#include "coz/testing/resident.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::Resident;
using testing::RunfilePath;
using ::testing::UnorderedElementsAre;

// A process of others, which runs for a while when it is told to, and then ends.
class Bystander {
 public:
  Bystander() {
    EXPECT_EQ(pipe(go_), 0);
    pid_ = fork();
    if (pid_ == 0) Run();
  }
  ~Bystander() {
    close(go_[0]);
    close(go_[1]);
  }
  pid_t pid() const { return pid_; }

  // How it has ended.
  int LetRun() const {
    int status = -1;
    EXPECT_EQ(write(go_[1], "x", 1), 1);
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    return status;
  }

 private:
  // Many sampling periods long.
  [[noreturn]] void Run() const {
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(go_[0], &byte, 1) != 1) _exit(1);
    timespec used = {0, 0};
    while (used.tv_nsec < static_cast<long>(50 * kNsPerMs)) {
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    }
    _exit(0);
  }

  int go_[2] = {-1, -1};
  pid_t pid_ = -1;
};

class AttachedTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    COZ_REQUIRE_CAPABILITY(testing::MissingPerfEvents());
    resident_.Line();
    options_.runtime_library = RealPath(RunfilePath("coz/runtime/libcoz.so"));
    options_.sampling_period_ns = kNsPerMs;
  }

  const Bystander bystander_;  // it comes before the block, and has no part of it
  AttachedProcess::Options options_;
  Resident resident_{{RunfilePath("coz/testing/puppets/residents"), "0"}};
};

// One whose calls a filter may end, from a moment on.
class LimitedProcessTest : public AttachedTreeTest {
 protected:
  void SetUp() override {
    AttachedTreeTest::SetUp();
    limited_.Line();
    absl::StatusOr<AttachedTree> tree = AttachedTree::Prepare(limited_.pid(), options_);
    ASSERT_TRUE(tree.ok()) << tree.status();
    tree_.emplace(*std::move(tree));
    absl::StatusOr<SharedControl> control = SharedControl::CreateIn(tree_->TakeControl());
    ASSERT_TRUE(control.ok()) << control.status();
    control_.emplace(*std::move(control));
    control_->block().sampling_period_ns = options_.sampling_period_ns;
  }
  // coz finds out by kill whether its supervisor lives.
  void Limit() { EXPECT_EQ(limited_.Ask(absl::StrFormat("forbid %d\n", SYS_kill)), "0\n"); }
  void ExpectEndsRight() {
    int status = -1;
    EXPECT_EQ(limited_.End(&status), "right\n");
    EXPECT_EQ(status, 0);
  }

  Resident limited_{{RunfilePath("coz/testing/puppets/resident"), "4"}};
  std::optional<AttachedTree> tree_;
  std::optional<SharedControl> control_;
};

TEST_F(LimitedProcessTest, FilterThatComesBetweenTwoCallsIsSeen) {
  Limit();
  const absl::Status joined = tree_->Join(&control_->block());
  EXPECT_EQ(joined.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(joined.message(),
              AnyOf(HasSubstr("makes it call kill"), HasSubstr("may not be seen")));
  ExpectEndsRight();
}

TEST_F(LimitedProcessTest, NoCallIsMadeToLeaveOneThatHasLimitedItself) {
  ASSERT_TRUE(tree_->Join(&control_->block()).ok());
  Limit();
  EXPECT_EQ(control_->block().counters.processes_restricted, 1u);
  const absl::Status left = tree_->Leave();
  EXPECT_THAT(left.message(), HasSubstr("it has limited its system calls"));
  ExpectEndsRight();
}

// The program writes into the block who has joined, and may name any process.
TEST_F(AttachedTreeTest, AdoptsItsChildrenAndNoProcessOfOthers) {
  absl::StatusOr<AttachedTree> tree = AttachedTree::Prepare(resident_.pid(), options_);
  ASSERT_TRUE(tree.ok()) << tree.status();
  absl::StatusOr<SharedControl> control = SharedControl::CreateIn(tree->TakeControl());
  ASSERT_TRUE(control.ok()) << control.status();
  shared::ControlBlock& block = control->block();
  block.sampling_period_ns = options_.sampling_period_ns;
  block.follow = shared::Follow::kAll;
  ASSERT_TRUE(tree->Join(&block).ok());
  pid_t child = 0;
  ASSERT_TRUE(absl::SimpleAtoi(absl::StripAsciiWhitespace(resident_.Ask("child\n")), &child));
  shared::ProcessSlot& slot = block.processes[block.processes_high_water++];
  slot.pid = bystander_.pid();
  slot.state = shared::ProcessState::kRunning;
  tree->Poll();
  EXPECT_THAT(tree->Running(), UnorderedElementsAre(resident_.pid(), child));
  const int ended = bystander_.LetRun();
  EXPECT_TRUE(WIFEXITED(ended)) << "a signal for samples ends whom it takes by surprise";
  block.stop = 1;
  EXPECT_TRUE(tree->Leave().ok());
  int status = -1;
  EXPECT_EQ(resident_.End(&status), "right\n");
  EXPECT_EQ(status, 0);
}

// It waits for that once, and would be the new program by the next look.
TEST_F(AttachedTreeTest, EventsStayOffWhereAnExecHasBegunSinceTheLastLook) {
  absl::StatusOr<AttachedTree> tree = AttachedTree::Prepare(resident_.pid(), options_);
  ASSERT_TRUE(tree.ok()) << tree.status();
  absl::StatusOr<SharedControl> control = SharedControl::CreateIn(tree->TakeControl());
  ASSERT_TRUE(control.ok()) << control.status();
  shared::ControlBlock& block = control->block();
  block.sampling_period_ns = options_.sampling_period_ns;
  ASSERT_TRUE(tree->Join(&block).ok());
  shared::ProcessSlot& slot = block.processes[0];
  slot.state = shared::ProcessState::kChanging;
  tree->SetSampling(true);
  EXPECT_EQ(slot.armed, shared::kArmedForExec);
  slot.state = shared::ProcessState::kRunning;
  tree->Poll();
  EXPECT_EQ(slot.armed, slot.image + 1) << "the exec has failed";
  block.stop = 1;
  EXPECT_TRUE(tree->Leave().ok());
  int status = -1;
  EXPECT_EQ(resident_.End(&status), "right\n");
}

}  // namespace
}  // namespace coz::supervisor
