#include "coz/supervisor/target/tree_members.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coz/supervisor/target/shared_control.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

// A child that is there until the end of the test.
class Child {
 public:
  template <typename Begin>
  explicit Child(Begin begin) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      begin();
      (void)!write(ends[1], "x", 1);
      for (;;) pause();
    }
    char byte;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(TreeMembersTest, WhoHasMappedTheBlockBelongsToTheProfile) {
  const absl::StatusOr<SharedControl> control = SharedControl::Create();
  ASSERT_TRUE(control.ok()) << control.status();
  shared::ControlBlock& block = control->block();
  const Child inherits([] {});
  const Child leaves([&block] { munmap(&block, sizeof(block)); });
  EXPECT_TRUE(HasMapped(block, getpid()));
  EXPECT_TRUE(HasMapped(block, inherits.pid()));
  EXPECT_FALSE(HasMapped(block, leaves.pid()));
  EXPECT_FALSE(HasMapped(block, getppid()));
  for (const pid_t none : {0, -1, -inherits.pid()}) EXPECT_FALSE(HasMapped(block, none));
}

TEST(TreeMembersTest, ABlockInPrivateMemoryIsItsOwners) {
  const auto block = testing::ZeroedControl();
  const Child child([] {});
  EXPECT_TRUE(HasMapped(*block, getpid()));
  EXPECT_FALSE(HasMapped(*block, child.pid()));
}

TEST(TreeMembersTest, AnAnswerIsKeptForASecondAndForOneNumber) {
  const absl::StatusOr<SharedControl> control = SharedControl::Create();
  ASSERT_TRUE(control.ok()) << control.status();
  const shared::ControlBlock& block = control->block();
  TreeMembers members;
  pid_t pid = 0;
  {
    const Child child([] {});
    pid = child.pid();
    EXPECT_TRUE(members.Has(block, 0, pid, 1));
  }
  EXPECT_TRUE(members.Has(block, 0, pid, 2)) << "it was one a moment ago";
  EXPECT_FALSE(members.Has(block, 1, pid, 2));
  EXPECT_FALSE(members.Has(block, 0, getppid(), 2));
  EXPECT_FALSE(members.Has(block, 0, pid, 2'000'000'000));
}

}  // namespace
}  // namespace coz::supervisor
