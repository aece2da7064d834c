#include "coz/base/interrupted_call.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "coz/base/sampling_signal.h"
#include "coz/testing/in_child.h"
#include "gtest/gtest.h"

namespace coz {
namespace {

using testing::RunInChild;

constexpr int kSample = SIGUSR2;  // that of a sample, in these tests
constexpr int kSignal = SIGUSR1;  // the program's own
constexpr int kEnded = 1;         // exit statuses
constexpr int kWentOn = 2;
volatile sig_atomic_t handled = 0;

void OnSample(int, siginfo_t*, void* context) {
  InterruptedCall call(static_cast<ucontext_t*>(context));
}

void OnSampleThenHandler(int, siginfo_t*, void* context) {
  InterruptedCall call(static_cast<ucontext_t*>(context));
  call.Settle();
  if (handled == 0) _exit(3);
}

void TakeSignal(int flags) {
  struct sigaction action = {};
  action.sa_handler = +[](int) { handled = handled + 1; };
  action.sa_flags = flags;
  sigaction(kSignal, &action, nullptr);
}

struct Pipe {
  Pipe() {
    if (pipe(ends) != 0) abort();
  }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  int ends[2];
};

int ReadByte(const Pipe& from) {
  char byte;
  const ssize_t result = read(from.ends[0], &byte, 1);
  if (handled != 1) return 4;
  if (result < 0) return errno == EINTR ? kEnded : 5;
  return kWentOn;
}

void WaitUntilItReads(pid_t child) {
  std::string call;
  do {
    std::ifstream file("/proc/" + std::to_string(child) + "/syscall");
    std::getline(file, call, ' ');
  } while (call != std::to_string(SYS_read));
}

// The exit status of a child that `prepare`s and then reads from a pipe, where the signals come
// both at once, the sample's first: a thread's own signals go before those of the process. One that
// reads on then gets a byte.
int StatusOfReader(void (*prepare)()) {
  const Pipe bytes;
  handled = 0;
  const pid_t child = fork();
  if (child == 0) {
    prepare();
    _exit(ReadByte(bytes));
  }
  WaitUntilItReads(child);
  int status = 0;
  kill(child, SIGSTOP);
  waitpid(child, &status, WUNTRACED);
  syscall(SYS_tgkill, child, child, kSample);
  kill(child, kSignal);
  kill(child, SIGCONT);
  while (write(bytes.ends[1], "x", 1) != 1) {
  }
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// What the kernel does by itself; if this fails, the others prove nothing.
TEST(InterruptedCallTest, WithoutItTheCallGoesOn) {
  EXPECT_EQ(StatusOfReader(+[] {
              TakeSignal(0);
              struct sigaction action = {};
              action.sa_handler = +[](int) {};
              action.sa_flags = SA_RESTART;
              sigaction(kSample, &action, nullptr);
            }),
            kWentOn);
}

TEST(InterruptedCallTest, EndsACallThatTheSignalEnds) {
  EXPECT_EQ(StatusOfReader(+[] {
              TakeSignal(0);
              InstallSignalHandler(kSample, &OnSample);
            }),
            kEnded);
}

TEST(InterruptedCallTest, KnowsHandlersThatAreSetLater) {
  EXPECT_EQ(StatusOfReader(+[] {
              InstallSignalHandler(kSample, &OnSample);
              TakeSignal(0);
              NoteSignalAction(kSignal);
            }),
            kEnded);
}

TEST(InterruptedCallTest, LetsACallGoOnThatTheSignalDoesNotEnd) {
  EXPECT_EQ(StatusOfReader(+[] {
              TakeSignal(SA_RESTART);
              InstallSignalHandler(kSample, &OnSample);
              NoteSignalAction(kSignal);
            }),
            kWentOn);
}

TEST(InterruptedCallTest, EndsItBeforeAHandlerOfTheProgramIsCalled) {
  EXPECT_EQ(StatusOfReader(+[] {
              TakeSignal(0);
              InstallSignalHandler(kSample, &OnSampleThenHandler);
            }),
            kEnded);
}

// A handler of the program may take as long as it likes, and leave by longjmp.
TEST(InterruptedCallTest, SignalsComeAtOnceWhereNoCallIsInterrupted) {
  EXPECT_EQ(RunInChild([] {
              TakeSignal(0);
              InstallSignalHandler(
                  kSample, +[](int, siginfo_t*, void* context) {
                    kill(getpid(), kSignal);
                    const int before = handled;
                    InterruptedCall call(static_cast<ucontext_t*>(context));
                    _exit(before == 0 && handled == 1 ? 0 : 1);
                  });
              syscall(SYS_tgkill, getpid(), getpid(), kSample);
              volatile bool never = true;
              while (never) {
              }
            }),
            0);
}

}  // namespace
}  // namespace coz
