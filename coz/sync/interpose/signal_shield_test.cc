#include "coz/sync/interpose/signal_shield.h"

#include <dlfcn.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "coz/base/interrupted_call.h"
#include "coz/sync/interpose/wrapped_calls.h"
#include "gtest/gtest.h"

// siginterrupt is deprecated, but programs use it.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace coz::interpose {
namespace {

constexpr int kReserved = SIGTRAP;

// Each test has a signal of its own, because SignalsThatEndCalls() keeps a signal for good.
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

// Expects that the reserved signal reads back as `other`, which libc has set in the same way.
void ExpectReservedReadsAs(int other) {
  const struct sigaction own = ActionOf(kReserved);
  const struct sigaction of_libc = ActionOf(other);
  EXPECT_EQ(own.sa_handler, of_libc.sa_handler);
  EXPECT_EQ(own.sa_flags, of_libc.sa_flags);
  EXPECT_EQ(own.sa_restorer, of_libc.sa_restorer);
  for (int signal = 1; signal < 32; ++signal) {
    // Each of the two signals stands for the other in its own mask.
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
  action.sa_flags = SA_ONSTACK | SA_NOCLDSTOP | 0x400;  // no kernel knows the last flag
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
    // The setting holds for the next signal() too.
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

// The kernel resets only the handler, so this does too.
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

int PendingHas(int signal) {
  sigset_t pending;
  EXPECT_EQ(sigpending(&pending), 0);
  return sigismember(&pending, signal);
}

TEST_F(SignalShieldTest, ReservedSignalThatIsBlockedComesWhenItIsNotAnyMore) {
  struct sigaction deliver = {};
  deliver.sa_sigaction = DeliverForeignSignal;  // the sampler calls it for signals not its own
  deliver.sa_flags = SA_SIGINFO;
  struct sigaction real_before = {};
  ASSERT_EQ(g_real.sigaction(kReserved, &deliver, &real_before), 0);
  for (const int number : {kReserved, SIGSTKFLT}) {
    signal(number, Handle);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    g_handled = 0;
    sigprocmask(SIG_BLOCK, &only, nullptr);
    raise(number);
    raise(number);
    EXPECT_EQ(g_handled, 0) << number;
    EXPECT_EQ(PendingHas(number), 1) << number;
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    EXPECT_EQ(g_handled, 1) << number;
    EXPECT_EQ(PendingHas(number), 0) << number;
    raise(number);
    EXPECT_EQ(g_handled, 2) << number;
    signal(number, SIG_DFL);
  }
  g_real.sigaction(kReserved, &real_before, nullptr);
}

// System V's and BSD's calls, either ours or libc's.
struct OldCalls {
  SignalHandler (*set)(int, SignalHandler);
  int (*hold)(int);
  int (*release)(int);
  int (*ignore)(int);
  int (*block)(int);
  int (*set_mask)(int);
  int (*get_mask)();
};

template <typename Function>
Function OfLibc(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

OldCalls LibcsOldCalls() {
  return {OfLibc<decltype(OldCalls::set)>("sigset"),
          OfLibc<decltype(OldCalls::hold)>("sighold"),
          OfLibc<decltype(OldCalls::release)>("sigrelse"),
          OfLibc<decltype(OldCalls::ignore)>("sigignore"),
          OfLibc<decltype(OldCalls::block)>("sigblock"),
          OfLibc<decltype(OldCalls::set_mask)>("sigsetmask"),
          OfLibc<decltype(OldCalls::get_mask)>("siggetmask")};
}

// What the program sees of `signal` through all of these calls, in words.
std::vector<std::string> SeenThrough(const OldCalls& calls, int signal) {
  std::vector<std::string> seen;
  const auto note = [&seen](SignalHandler handler) {
    const std::pair<SignalHandler, const char*> names[] = {
        {SIG_DFL, "default"}, {SIG_IGN, "ignore"}, {SIG_HOLD, "hold"},
        {SIG_ERR, "error"},   {Handle, "handle"},  {HandleOtherwise, "otherwise"}};
    for (const auto& [named, name] : names) {
      if (handler == named)
        seen.push_back(name + (handler == SIG_ERR ? std::to_string(errno) : ""));
    }
  };
  const auto note_number = [&seen](int number) { seen.push_back(std::to_string(number)); };
  const auto note_mask = [&](int mask) { note_number(mask >> (signal - 1) & 1); };
  const auto note_action = [&] {
    const struct sigaction action = ActionOf(signal);
    note(action.sa_handler);
    note_number(action.sa_flags);
    for (int member = 1; member < 32; ++member) note_number(sigismember(&action.sa_mask, member));
  };
  note(calls.set(signal, Handle));
  note_action();
  note(calls.set(signal, SIG_HOLD));
  note(calls.set(signal, SIG_HOLD));
  note_mask(calls.get_mask());
  note(calls.set(signal, HandleOtherwise));
  note_mask(calls.get_mask());
  note_number(calls.hold(signal));
  note_mask(calls.get_mask());
  note_number(calls.release(signal));
  note_mask(calls.get_mask());
  note_number(calls.ignore(signal));
  note_action();
  note_mask(calls.block(1 << (signal - 1)));
  note_mask(calls.set_mask(0));
  note_mask(calls.get_mask());
  note(calls.set(signal, SIG_DFL));
  note(calls.set(signal, SIG_ERR));
  for (const int wrong : {0, -1, 1000, SIGKILL}) {
    note(calls.set(wrong, Handle));
    note_number(calls.ignore(wrong));
    note_number(wrong == SIGKILL ? 0 : calls.hold(wrong));
    note_number(errno);
  }
  return seen;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

TEST_F(SignalShieldTest, OldCallsAnswerAsLibcs) {
  struct sigaction real_before = {};
  g_real.sigaction(kReserved, nullptr, &real_before);
  const OldCalls ours = {sigset, sighold, sigrelse, sigignore, sigblock, sigsetmask, siggetmask};
  const std::vector<std::string> of_libc = SeenThrough(LibcsOldCalls(), SIGPROF);
  EXPECT_EQ(Joined(SeenThrough(ours, kReserved)), Joined(of_libc));
  EXPECT_EQ(Joined(SeenThrough(ours, SIGTTIN)), Joined(of_libc));
  struct sigaction real_after = {};
  g_real.sigaction(kReserved, nullptr, &real_after);
  EXPECT_EQ(real_after.sa_handler, real_before.sa_handler);
}

TEST_F(SignalShieldTest, OldCallsDoNotBlockTheReservedSignal) {
  sighold(kReserved);
  sigblock(1 << (kReserved - 1));
  sigset_t real;
  g_real.pthread_sigmask(SIG_BLOCK, nullptr, &real);
  EXPECT_EQ(sigismember(&real, kReserved), 0);
  EXPECT_EQ(BlocksReservedSignal(), 1u);
  sigrelse(kReserved);
  EXPECT_EQ(BlocksReservedSignal(), 0u);
}

TEST_F(SignalShieldTest, SigsetLetsAHandlerEndCalls) {
  EXPECT_FALSE(EndsCalls(SIGTTOU));
  EXPECT_EQ(sigset(SIGTTOU, Handle), SIG_DFL);
  EXPECT_TRUE(EndsCalls(SIGTTOU)) << "samples would restart calls that it ends";
}

TEST_F(SignalShieldTest, SignalfdOfWhatCannotBeReadAnswersAsLibcs) {
  static sigset_t* volatile unreadable = reinterpret_cast<sigset_t*>(64);
  errno = 0;
  EXPECT_EQ(signalfd(-1, unreadable, 0), -1);
  EXPECT_EQ(errno, EFAULT);
}

}  // namespace
}  // namespace coz::interpose
