#include "coz/runtime/signal_shield.h"

#include <unistd.h>

#include <cerrno>

#include "coz/sampler/interrupted_call.h"
#include "coz/sync/wrapped_calls.h"
#include "gtest/gtest.h"

// siginterrupt, which programs use all the same.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace coz {
namespace {

constexpr int kReserved = SIGTRAP;

// Each test has a signal of its own, for a process does not forget that a handler has ended calls.
class SignalShieldTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ResolveRealCalls();
    InitSignalShield(kReserved);
  }
  void TearDown() override { signal(kReserved, SIG_DFL); }
};

int g_handled = 0;
void Handle(int) { ++g_handled; }
void HandleOtherwise(int) {}

struct sigaction ActionOf(int signal) {
  struct sigaction action = {};
  EXPECT_EQ(sigaction(signal, nullptr, &action), 0);
  return action;
}

int MaskHas(int signal, int member) {
  const struct sigaction action = ActionOf(signal);
  return sigismember(&action.sa_mask, member);
}

bool EndsCalls(int signal) { return (SignalsThatEndCalls() >> (signal - 1) & 1) != 0; }

// The reserved signal reads back as another one, which libc has set.
void ExpectReservedReadsAs(int other) {
  const struct sigaction own = ActionOf(kReserved);
  const struct sigaction of_libc = ActionOf(other);
  EXPECT_EQ(own.sa_handler, of_libc.sa_handler);
  EXPECT_EQ(own.sa_flags, of_libc.sa_flags);
  EXPECT_EQ(own.sa_restorer, of_libc.sa_restorer);
  for (int signal = 1; signal < 32; ++signal) {
    // Of the signal's own bit.
    const int in_other = signal == kReserved ? other : signal == other ? kReserved : signal;
    EXPECT_EQ(sigismember(&own.sa_mask, signal), sigismember(&of_libc.sa_mask, in_other)) << signal;
  }
}

TEST_F(SignalShieldTest, SysvSignalOfTheReservedSignalReadsBackAsLibcs) {
  struct sigaction real_before = {};
  g_real.sigaction(kReserved, nullptr, &real_before);
  for (const int signal : {kReserved, SIGUSR1}) {
    EXPECT_EQ(sysv_signal(signal, Handle), SIG_DFL);
    EXPECT_EQ(sysv_signal(signal, HandleOtherwise), Handle);
    errno = 0;
    EXPECT_EQ(sysv_signal(signal, SIG_ERR), SIG_ERR);
    EXPECT_EQ(errno, EINVAL);
  }
  ExpectReservedReadsAs(SIGUSR1);
  struct sigaction real_after = {};
  g_real.sigaction(kReserved, nullptr, &real_after);
  EXPECT_EQ(real_after.sa_handler, real_before.sa_handler);
}

TEST_F(SignalShieldTest, SysvSignalHandlesOnce) {
  g_handled = 0;
  EXPECT_FALSE(EndsCalls(SIGUSR2));
  EXPECT_EQ(sysv_signal(SIGUSR2, Handle), SIG_DFL);
  EXPECT_TRUE(EndsCalls(SIGUSR2)) << "samples would restart calls that it ends";
  EXPECT_EQ(kill(getpid(), SIGUSR2), 0);
  EXPECT_EQ(g_handled, 1);
  EXPECT_EQ(ActionOf(SIGUSR2).sa_handler, SIG_DFL);
}

TEST_F(SignalShieldTest, SysvSignalRefusesWhatLibcRefuses) {
  for (const int signal : {0, -1, 1000, SIGKILL}) {
    errno = 0;
    EXPECT_EQ(sysv_signal(signal, Handle), SIG_ERR) << signal;
    EXPECT_EQ(errno, EINVAL);
  }
}

TEST_F(SignalShieldTest, SignalOfTheReservedSignalReadsBackAsLibcs) {
  for (const int number : {kReserved, SIGHUP}) {
    EXPECT_EQ(signal(number, Handle), SIG_DFL);
    errno = 0;
    EXPECT_EQ(signal(number, SIG_ERR), SIG_ERR);
    EXPECT_EQ(errno, EINVAL);
  }
  ExpectReservedReadsAs(SIGHUP);
}

TEST_F(SignalShieldTest, SigactionOfTheReservedSignalReadsBackAsLibcs) {
  struct sigaction action = {};
  action.sa_handler = Handle;
  action.sa_flags = SA_ONSTACK | SA_NOCLDSTOP | 0x400;  // the last is one that no kernel knows
  sigfillset(&action.sa_mask);
  for (const int signal : {kReserved, SIGALRM}) EXPECT_EQ(sigaction(signal, &action, nullptr), 0);
  ExpectReservedReadsAs(SIGALRM);
}

TEST_F(SignalShieldTest, SiginterruptOfTheReservedSignalReadsBackAsLibcs) {
  for (const int interrupt : {1, 0, 1}) {
    for (const int number : {kReserved, SIGVTALRM}) {
      signal(number, Handle);
      EXPECT_EQ(siginterrupt(number, interrupt), 0);
    }
    ExpectReservedReadsAs(SIGVTALRM);
    // It holds for the next signal() too.
    for (const int number : {kReserved, SIGVTALRM}) signal(number, HandleOtherwise);
    ExpectReservedReadsAs(SIGVTALRM);
    EXPECT_EQ((ActionOf(kReserved).sa_flags & SA_RESTART) == 0, interrupt != 0);
  }
  siginterrupt(kReserved, 0);
}

TEST_F(SignalShieldTest, SiginterruptLetsAHandlerEndCalls) {
  EXPECT_EQ(signal(SIGURG, Handle), SIG_DFL);
  EXPECT_FALSE(EndsCalls(SIGURG));
  EXPECT_EQ(siginterrupt(SIGURG, 1), 0);
  EXPECT_TRUE(EndsCalls(SIGURG));
  errno = 0;
  EXPECT_EQ(siginterrupt(1000, 1), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(SignalShieldTest, SiginterruptBeforeTheHandlerLetsItEndCalls) {
  EXPECT_EQ(siginterrupt(SIGIO, 1), 0);
  EXPECT_FALSE(EndsCalls(SIGIO)) << "there is no handler";
  EXPECT_EQ(signal(SIGIO, Handle), SIG_DFL);
  EXPECT_TRUE(EndsCalls(SIGIO));
}

TEST_F(SignalShieldTest, SignalEmptiesTheMaskOfAHandler) {
  struct sigaction action = {};
  action.sa_handler = Handle;
  sigaddset(&action.sa_mask, kReserved);
  for (const auto set : {signal, sysv_signal}) {
    ASSERT_EQ(sigaction(SIGWINCH, &action, nullptr), 0);
    EXPECT_EQ(siginterrupt(SIGWINCH, 1), 0);
    EXPECT_EQ(MaskHas(SIGWINCH, kReserved), 1);
    EXPECT_EQ(set(SIGWINCH, HandleOtherwise), Handle);
    EXPECT_EQ(MaskHas(SIGWINCH, kReserved), 0);
  }
}

// As the kernel does it: the handler alone.
TEST_F(SignalShieldTest, HandlerThatIsResetKeepsItsFlags) {
  g_handled = 0;
  for (const int number : {kReserved, SIGXCPU}) sysv_signal(number, Handle);
  EXPECT_EQ(kill(getpid(), SIGXCPU), 0);
  siginfo_t info = {};
  info.si_signo = kReserved;
  ucontext_t context = {};
  DeliverForeignSignal(kReserved, &info, &context);
  EXPECT_EQ(g_handled, 2);
  ExpectReservedReadsAs(SIGXCPU);
}

}  // namespace
}  // namespace coz
