// Wrapped calls treat unreadable pointers as libc does.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "coz/base/clock.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/wrapped_calls.h"
#include "coz/testing/in_child.h"

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::RunInChild;
using testing::SharedValue;

struct Case {
  std::string text;
  std::function<long()> wrapped;
  std::function<long()> of_libc;
};

// Where the process does not return from the call, there is a status but no result.
struct Outcome {
  int status = 0;
  long result = 0;
  int error = 0;
  bool operator==(const Outcome& other) const {
    return status == other.status && result == other.result && error == other.error;
  }
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << "status " << outcome.status << ", result " << outcome.result << ", errno "
             << outcome.error;
}

Outcome OutcomeOf(const std::function<long()>& call) {
  const SharedValue<Outcome> shared;
  const int status = RunInChild([&] {
    alarm(20);
    errno = 0;
    shared->result = call();
    shared->error = shared->result < 0 ? errno : 0;
  });
  Outcome outcome = *shared;
  outcome.status = status;
  return outcome;
}

// An unreadable pointer whose value the compiler does not know.
template <typename T>
T* Bad() {
  static T* volatile bad = reinterpret_cast<T*>(64);
  return bad;
}
template <typename T>
T* Null() {
  static T* volatile null = nullptr;
  return null;
}

#define COZ_CASE(name, ...)                                                                \
  {                                                                                        \
#name "(" #__VA_ARGS__ ")", [=] { return static_cast<long>(::name(__VA_ARGS__)); }, [= \
    ] { return static_cast<long>(g_real.name(__VA_ARGS__)); }                              \
  }

class InterposeBadPointerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds_), 0);
    process_.Impose(kNsPerMs);  // so that the slow paths are taken
  }
  void TearDown() override {
    close(fds_[0]);
    close(fds_[1]);
  }
  void ExpectAsLibc(const std::vector<Case>& cases) {
    for (const Case& tested : cases) {
      EXPECT_EQ(OutcomeOf(tested.wrapped), OutcomeOf(tested.of_libc)) << tested.text;
    }
  }

  FakeProcess process_;
  int fds_[2] = {-1, -1};
};

TEST_F(InterposeBadPointerTest, SocketCallsAnswerAsLibcs) {
  const int fd = fds_[0];
  ExpectAsLibc({
      COZ_CASE(connect, fd, Bad<sockaddr>(), 16),
      COZ_CASE(connect, fd, Null<sockaddr>(), 16),
      COZ_CASE(connect, fd, Bad<sockaddr>(), 0),
      COZ_CASE(sendto, fd, "", 1, 0, Bad<sockaddr>(), 16),
      COZ_CASE(sendto, fd, Bad<void>(), 1, 0, nullptr, 0),
      COZ_CASE(sendmsg, fd, Bad<msghdr>(), 0),
      COZ_CASE(sendmsg, fd, Null<msghdr>(), 0),
      COZ_CASE(sendmmsg, fd, Bad<mmsghdr>(), 1, 0),
      COZ_CASE(sendmmsg, fd, Bad<mmsghdr>(), 0, 0),
      COZ_CASE(recvmsg, fd, Bad<msghdr>(), MSG_DONTWAIT),
      COZ_CASE(recvmmsg, fd, Bad<mmsghdr>(), 1, MSG_DONTWAIT, nullptr),
      COZ_CASE(accept, fd, Bad<sockaddr>(), Bad<socklen_t>()),
      COZ_CASE(socketpair, AF_UNIX, SOCK_STREAM, 0, Bad<int>()),
      COZ_CASE(write, fd, Bad<void>(), 1),
      COZ_CASE(writev, fd, Bad<iovec>(), 1),
      COZ_CASE(readv, fd, Bad<iovec>(), 1),
  });
}

TEST_F(InterposeBadPointerTest, MessageWithUnreadableNameAnswersAsLibcs) {
  msghdr message = {};
  message.msg_name = Bad<void>();
  message.msg_namelen = 16;
  ExpectAsLibc({COZ_CASE(sendmsg, fds_[0], &message, 0)});
}

TEST_F(InterposeBadPointerTest, PollsAnswerAsLibcs) {
  const timespec brief = {0, 1000};
  const timespec* const soon = &brief;
  const int epoll = epoll_create1(0);
  ExpectAsLibc({
      COZ_CASE(poll, Bad<pollfd>(), 1, 0),
      COZ_CASE(ppoll, nullptr, 0, soon, Bad<sigset_t>()),
      COZ_CASE(ppoll, Bad<pollfd>(), 1, soon, nullptr),
      COZ_CASE(ppoll, nullptr, 0, Bad<timespec>(), nullptr),
      COZ_CASE(pselect, 0, nullptr, nullptr, nullptr, soon, Bad<sigset_t>()),
      COZ_CASE(pselect, 1, Bad<fd_set>(), nullptr, nullptr, soon, nullptr),
      COZ_CASE(select, 1, Bad<fd_set>(), nullptr, nullptr, nullptr),
      COZ_CASE(select, 1, nullptr, Bad<fd_set>(), nullptr, nullptr),
      COZ_CASE(select, 0, nullptr, nullptr, nullptr, Bad<timeval>()),
      COZ_CASE(epoll_ctl, epoll, EPOLL_CTL_ADD, fds_[0], Bad<epoll_event>()),
      COZ_CASE(epoll_ctl, epoll, EPOLL_CTL_DEL, fds_[0], Bad<epoll_event>()),
      COZ_CASE(epoll_wait, epoll, Bad<epoll_event>(), 1, 0),
      COZ_CASE(epoll_pwait, epoll, Bad<epoll_event>(), 1, 0, Bad<sigset_t>()),
      COZ_CASE(epoll_pwait2, epoll, Bad<epoll_event>(), 1, soon, Bad<sigset_t>()),
  });
  close(epoll);
}

TEST_F(InterposeBadPointerTest, WaitsForSignalsAnswerAsLibcs) {
  ExpectAsLibc({
      COZ_CASE(sigsuspend, Bad<sigset_t>()),
      COZ_CASE(sigsuspend, Null<sigset_t>()),
      COZ_CASE(sigwaitinfo, Bad<sigset_t>(), nullptr),
      COZ_CASE(sigtimedwait, Bad<sigset_t>(), nullptr, nullptr),
      COZ_CASE(sigwait, Bad<sigset_t>(), Bad<int>()),
  });
}

TEST_F(InterposeBadPointerTest, WaitsForPendingSignalsAnswerAsLibcs) {
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  const sigset_t* const set = &signals;
  pthread_sigmask(SIG_BLOCK, set, &before);
  // Each in a child of its own, which has no pending signal.
  const auto pending = [](const Case& waits) {
    const auto after_signal = [](const std::function<long()>& wait) {
      return [wait] {
        kill(getpid(), SIGUSR1);
        return wait();
      };
    };
    return Case{waits.text, after_signal(waits.wrapped), after_signal(waits.of_libc)};
  };
  ExpectAsLibc({
      pending(COZ_CASE(sigwaitinfo, set, Bad<siginfo_t>())),
      pending(COZ_CASE(sigtimedwait, set, Bad<siginfo_t>(), nullptr)),
      pending(COZ_CASE(sigtimedwait, set, nullptr, Bad<timespec>())),
      pending(COZ_CASE(sigwaitinfo, set, nullptr)),
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(InterposeBadPointerTest, FutexCallsAnswerAsLibcs) {
  int word = 0;
  const long at = reinterpret_cast<long>(&word);
  const long bad = reinterpret_cast<long>(Bad<int>());
  const long any = FUTEX_BITSET_MATCH_ANY;
  ExpectAsLibc({
      COZ_CASE(syscall, SYS_futex, bad, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0),
      COZ_CASE(syscall, SYS_futex, at, FUTEX_WAIT_PRIVATE, 0, bad, 0, 0),
      COZ_CASE(syscall, SYS_futex, at, FUTEX_WAIT_BITSET_PRIVATE, 0, bad, 0, any),
      COZ_CASE(syscall, SYS_futex, at, FUTEX_LOCK_PI_PRIVATE, 0, bad, 0, 0),
      COZ_CASE(syscall, SYS_futex, bad, FUTEX_LOCK_PI_PRIVATE, 0, 0, 0, 0),
      COZ_CASE(syscall, SYS_futex, bad, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0),
      COZ_CASE(syscall, SYS_futex, at, FUTEX_REQUEUE_PRIVATE, 1, 1, bad, 0),
      COZ_CASE(syscall, SYS_futex, at, FUTEX_WAKE_OP_PRIVATE, 1, 1, bad, 0),
      COZ_CASE(syscall, SYS_futex, at, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, bad, bad, 0),
      COZ_CASE(syscall, SYS_futex_waitv, bad, 1, 0, 0, CLOCK_MONOTONIC, 0),
  });
}

TEST_F(InterposeBadPointerTest, SleepsAnswerAsLibcs) {
  ExpectAsLibc({
      COZ_CASE(nanosleep, Bad<timespec>(), nullptr),
      COZ_CASE(clock_nanosleep, CLOCK_MONOTONIC, 0, Bad<timespec>(), nullptr),
      COZ_CASE(clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, Bad<timespec>(), nullptr),
      COZ_CASE(waitid, P_ALL, 0, Bad<siginfo_t>(), WEXITED),
  });
}

}  // namespace
}  // namespace coz::interpose
