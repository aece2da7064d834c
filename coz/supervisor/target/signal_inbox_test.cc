#include "coz/supervisor/target/signal_inbox.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coz/testing/in_child.h"
#include "gtest/gtest.h"

namespace coz::supervisor {
namespace {

using ::coz::testing::RunInChild;

void SendInterrupt() { kill(getpid(), SIGINT); }

TEST(SignalInboxTest, InterruptIsNoted) {
  const int status = RunInChild([] {
    SignalInbox inbox;
    if (inbox.interrupted()) _exit(1);
    SendInterrupt();
    inbox.Forward(0);
    if (!inbox.interrupted()) _exit(2);
  });
  EXPECT_EQ(status, 0);
}

// As where a connection drops: a program that was there before is not left to itself.
TEST(SignalInboxTest, TerminalThatGoesEndsWhatHasNoProgramOfItsOwn) {
  const int status = RunInChild([] {
    SignalInbox inbox;
    kill(getpid(), SIGHUP);
    inbox.Forward(0);
    _exit(inbox.interrupted() ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
}

TEST(SignalInboxTest, TerminalThatGoesIsNothingUnderNohup) {
  const int status = RunInChild([] {
    signal(SIGHUP, SIG_IGN);
    SignalInbox inbox;
    kill(getpid(), SIGHUP);
    inbox.Forward(0);
    _exit(inbox.interrupted() ? 1 : 0);
  });
  EXPECT_EQ(status, 0);
}

// The program has ended meanwhile, and the report is still to come.
TEST(SignalInboxTest, InterruptThatNobodyHasLookedAtDoesNotEndTheProcess) {
  const int status = RunInChild([] {
    {
      const SignalInbox inbox;
      SendInterrupt();
    }
  });
  EXPECT_EQ(status, 0) << "ended by signal " << (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

// What this process raised itself, by a write to a pipe that nobody reads, is not the program's.
TEST(SignalInboxTest, OwnSignalsAreNotPassedOn) {
  const int status = RunInChild([] {
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGPIPE);
    sigaddset(&both, SIGTERM);
    sigprocmask(SIG_BLOCK, &both, nullptr);
    const pid_t target = fork();
    if (target == 0) {
      int first = 0;
      sigwait(&both, &first);  // of several the lowest
      _exit(first);
    }
    SignalInbox inbox;
    kill(getpid(), SIGPIPE);
    inbox.Forward(target);
    kill(target, SIGTERM);
    int ended = 0;
    waitpid(target, &ended, 0);
    _exit(WEXITSTATUS(ended) == SIGTERM ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
}

TEST(SignalInboxTest, LaterInterruptsDoWhatTheyDidBefore) {
  const int status = RunInChild([] {
    signal(SIGINT, SIG_DFL);
    { const SignalInbox inbox; }
    SendInterrupt();
  });
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace coz::supervisor
