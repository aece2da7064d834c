#include "coz/supervisor/target/thread_load.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>

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

}  // namespace
}  // namespace coz::supervisor
