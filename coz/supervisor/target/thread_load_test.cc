#include "coz/supervisor/target/thread_load.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <vector>

#include "coz/base/clock.h"
#include "coz/shared/control_block.h"
#include "coz/sync/delay/delay_ledger.h"
#include "coz/testing/zeroed_control.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

pid_t StartStopped() {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) raise(SIGSTOP);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, WUNTRACED), child);
  return child;
}

long OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

void End(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(ThreadStatesTest, ReadsAgainWhatAnOpenFileTells) {
  ThreadStates states;
  const pid_t child = StartStopped();
  EXPECT_EQ(states.Letter(child, child), 'T');
  EXPECT_EQ(states.Letter(child, child), 'T');
  kill(child, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(states.Letter(child, child), 'Z');
  waitpid(child, nullptr, 0);
  EXPECT_EQ(states.Letter(child, child), '\0');
  EXPECT_EQ(states.Letter(getpid(), gettid()), 'R');
}

TEST(ThreadStatesTest, GoesOnWithFewFiles) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (const rlim_t files : {3, 8}) {
    rlimit few = before;
    few.rlim_cur = files;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    ThreadStates states;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    pid_t children[4];
    for (pid_t& child : children) child = StartStopped();
    const long open_before = OpenFiles();
    for (int round = 0; round < 2; ++round) {
      for (const pid_t child : children) EXPECT_EQ(states.Letter(child, child), 'T');
    }
    EXPECT_LE(OpenFiles() - open_before, static_cast<long>(files / 4)) << files;
    for (const pid_t child : children) End(child);
  }
}

// Threads of stopped processes, one more than CPUs.
class ThreadLoadTest : public ::testing::Test {
 protected:
  ThreadLoadTest() {
    for (int i = 0; i <= load_.cpus(); ++i) {
      shared::ThreadSlot& slot = control_->threads[i];
      children_.push_back(StartStopped());
      slot.pid = slot.tid = children_.back();
      slot.state = shared::ThreadState::kRunning;
    }
    control_->threads_high_water = static_cast<uint32_t>(children_.size());
  }
  ~ThreadLoadTest() override {
    for (const pid_t child : children_) End(child);
  }

  void SetPausing(uint32_t as) {
    for (size_t i = 0; i < children_.size(); ++i) control_->threads[i].ledger.pausing = as;
  }

  // After looks in which so many CPUs are idle. `delay_ns` is inserted between two.
  bool IsCrowd(double idle_cpus, uint64_t delay_ns = 0) {
    constexpr int kLooks = 200;
    constexpr uint64_t kLookNs = 100 * kNsPerMs;
    for (int i = 0; i < kLooks; ++i) {
      now_ns_ += kLookNs;
      idle_ns_ += static_cast<uint64_t>(idle_cpus * kLookNs);
      delay_ns_ += delay_ns;
      if (idle_cpus > 0) load_.NoteIdle(idle_ns_, now_ns_, delay_ns_);
      load_.Poll(now_ns_);
    }
    return load_.is_crowd();
  }

  const testing::OwnedControl control_ = testing::ZeroedControl();
  ThreadLoad load_{control_.get()};
  std::vector<pid_t> children_;
  uint64_t now_ns_ = kNsPerSecond;
  uint64_t idle_ns_ = 0;
  uint64_t delay_ns_ = 0;
};

TEST_F(ThreadLoadTest, PausesThatStandForWorkMakeACrowd) {
  EXPECT_FALSE(IsCrowd(0)) << "nobody can run";
  SetPausing(delay::kPausing);
  EXPECT_TRUE(IsCrowd(0));
  EXPECT_EQ(load_.live(), load_.cpus() + 1);
  SetPausing(delay::kWaitingOn);
  EXPECT_FALSE(IsCrowd(0));
}

TEST_F(ThreadLoadTest, IdleCpusAreNoCrowdUntilTheyAreForgotten) {
  SetPausing(delay::kPausing);
  EXPECT_TRUE(IsCrowd(0.1 * load_.cpus()));
  EXPECT_FALSE(IsCrowd(0.5 * load_.cpus()));
  load_.ForgetIdle();
  EXPECT_TRUE(IsCrowd(0));
}

TEST_F(ThreadLoadTest, OtherProgramsThreadsAreNotTheTargets) {
  std::vector<pid_t> others;
  for (long i = 0; i <= sysconf(_SC_NPROCESSORS_ONLN); ++i) {
    others.push_back(fork());
    if (others.back() == 0) {
      for (;;) getppid();
    }
  }
  load_.Poll(now_ns_);
  EXPECT_EQ(load_.runnable(), 0) << "all of them are stopped";
  EXPECT_GT(load_.beside(), 0);
  for (const pid_t other : others) End(other);
}

TEST_F(ThreadLoadTest, IdleTimeWithDelaysDoesNotCount) {
  SetPausing(delay::kPausing);
  EXPECT_TRUE(IsCrowd(0.5 * load_.cpus(), kNsPerMs));
  EXPECT_FALSE(IsCrowd(0.5 * load_.cpus()));
}

}  // namespace
}  // namespace coz::supervisor
