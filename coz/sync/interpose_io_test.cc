// Waits through file descriptors: who is credited, and who is not.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "coz/base/raw_syscall.h"
#include "coz/sync/io_object.h"
#include "coz/sync/io_wait.h"
#include "coz/sync/testing/fake_process.h"
#include "coz/sync/testing/wait_scenario.h"
#include "coz/sync/thread_sync.h"

namespace coz {
namespace {

using testing::FakeProcess;
using testing::NamedScenario;
using testing::Scenario;
using testing::WaitUntil;
using testing::WatchedThread;

// Two ends; what is written to `output` is read from `input`.
struct Channel {
  int input = -1;
  int output = -1;
  int listener = -1;
  ~Channel() {
    for (const int fd : {input, output, listener}) {
      if (fd >= 0) close(fd);
    }
  }
};
using SharedChannel = std::shared_ptr<Channel>;

SharedChannel NewPipe() {
  auto channel = std::make_shared<Channel>();
  int fds[2];
  EXPECT_EQ(pipe(fds), 0);
  channel->input = fds[0];
  channel->output = fds[1];
  return channel;
}

SharedChannel NewPair(int type) {
  auto channel = std::make_shared<Channel>();
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, type, 0, fds), 0);
  channel->input = fds[0];
  channel->output = fds[1];
  return channel;
}
SharedChannel NewStreamPair() { return NewPair(SOCK_STREAM); }

SharedChannel NewEventfd() {
  auto channel = std::make_shared<Channel>();
  channel->input = channel->output = eventfd(0, 0);
  return channel;
}

template <typename Address>
const sockaddr* Any(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

int BoundInternetSocket(int family, int type) {
  const int fd = socket(family, type, 0);
  if (family == AF_INET) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd, Any(address), sizeof(address)), 0);
  } else {
    sockaddr_in6 address = {};  // of any host, IPv4 ones too
    address.sin6_family = AF_INET6;
    EXPECT_EQ(bind(fd, Any(address), sizeof(address)), 0);
  }
  return fd;
}

// The loopback address of a socket that was bound by BoundInternetSocket.
sockaddr_in LoopbackOf(int fd) {
  sockaddr_in6 bound = {};
  socklen_t length = sizeof(bound);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length), 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = bound.sin6_port;  // at the same place in both
  return address;
}

SharedChannel NewTcp(int listener_family) {
  auto channel = std::make_shared<Channel>();
  channel->listener = BoundInternetSocket(listener_family, SOCK_STREAM);
  EXPECT_EQ(listen(channel->listener, 1), 0);
  const sockaddr_in address = LoopbackOf(channel->listener);
  channel->output = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(channel->output, Any(address), sizeof(address)), 0);
  channel->input = accept(channel->listener, nullptr, nullptr);
  EXPECT_GE(channel->input, 0);
  return channel;
}
SharedChannel NewTcp4() { return NewTcp(AF_INET); }
SharedChannel NewTcpMapped() { return NewTcp(AF_INET6); }

// Client to server, by a path; `flipped` from server to client.
SharedChannel NewUnixStream(bool flipped) {
  static int count = 0;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // Abstract, so that nothing is left behind.
  snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "coz-test-%d-%d", getpid(), ++count);
  const socklen_t length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1));
  auto channel = std::make_shared<Channel>();
  channel->listener = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(bind(channel->listener, Any(address), length), 0);
  EXPECT_EQ(listen(channel->listener, 1), 0);
  channel->output = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_EQ(connect(channel->output, Any(address), length), 0);
  channel->input = accept(channel->listener, nullptr, nullptr);
  EXPECT_GE(channel->input, 0);
  if (flipped) std::swap(channel->input, channel->output);
  return channel;
}

SharedChannel NewUdp(bool sender_connects, bool receiver_connects) {
  auto channel = std::make_shared<Channel>();
  channel->input = BoundInternetSocket(AF_INET, SOCK_DGRAM);
  channel->output = BoundInternetSocket(AF_INET, SOCK_DGRAM);
  const sockaddr_in to = LoopbackOf(channel->input);
  const sockaddr_in from = LoopbackOf(channel->output);
  const bool connected =
      (!sender_connects || connect(channel->output, Any(to), sizeof(to)) == 0) &&
      (!receiver_connects || connect(channel->input, Any(from), sizeof(from)) == 0);
  EXPECT_TRUE(connected);
  return channel;
}

// Eight bytes, as an eventfd wants them.
constexpr uint64_t kMessage = 1;
constexpr ssize_t kBytes = sizeof(kMessage);
bool Receives(int fd) {
  uint64_t message = 0;
  return read(fd, &message, sizeof(message)) == kBytes && message == kMessage;
}
void Send(int fd) { EXPECT_EQ(write(fd, &kMessage, sizeof(kMessage)), kBytes); }
// By a system call that is not wrapped: as another program would.
void SendFromOutside(int fd) {
  EXPECT_EQ(RawSyscall(SYS_write, fd, &kMessage, sizeof(kMessage)), kBytes);
}

using NewChannel = std::function<SharedChannel()>;

NamedScenario ChannelWait(const char* name, NewChannel make,
                          std::function<bool(int)> wait = Receives,
                          std::function<void(int)> wake = Send) {
  return {name, [=] {
            const SharedChannel channel = make();
            return Scenario([=] { return wait(channel->input); },
                            [=](std::thread&) { wake(channel->output); });
          }};
}

// The writer waits for room in a full channel, the reader makes some.
NamedScenario FullChannelWait(const char* name, NewChannel make,
                              std::function<bool(int)> wait = nullptr) {
  return {name, [=] {
            const SharedChannel channel = make();
            const std::string block(4096, 'x');
            const int flags = fcntl(channel->output, F_GETFL);
            EXPECT_EQ(fcntl(channel->output, F_SETFL, flags | O_NONBLOCK), 0);
            while (write(channel->output, block.data(), block.size()) > 0) {
            }
            EXPECT_EQ(fcntl(channel->output, F_SETFL, flags), 0);
            EXPECT_EQ(fcntl(channel->input, F_SETFL, O_NONBLOCK), 0);
            auto done = std::make_shared<std::atomic<bool>>(false);
            return Scenario(
                [=] {
                  const bool woken = wait != nullptr
                                         ? wait(channel->output)
                                         : write(channel->output, block.data(), block.size()) > 0;
                  *done = true;
                  return woken;
                },
                [=](std::thread&) {
                  std::string bytes(1 << 16, ' ');
                  WaitUntil("there is room", [&] {
                    while (!*done && read(channel->input, bytes.data(), bytes.size()) > 0) {
                    }
                    return done->load();
                  });
                });
          }};
}

bool ReceivesByReadv(int fd) {
  uint32_t low = 0;
  uint32_t high = 0;
  const iovec parts[2] = {{&low, sizeof(low)}, {&high, sizeof(high)}};
  return readv(fd, parts, 2) == kBytes && low == kMessage;
}
bool ReceivesByRecv(int fd) {
  uint64_t message = 0;
  return recv(fd, &message, sizeof(message), 0) == kBytes;
}
bool ReceivesByRecvfrom(int fd) {
  uint64_t message = 0;
  sockaddr_storage from;
  socklen_t length = sizeof(from);
  return recvfrom(fd, &message, sizeof(message), 0, reinterpret_cast<sockaddr*>(&from), &length) ==
         kBytes;
}
bool ReceivesByRecvmsg(int fd) {
  uint64_t message = 0;
  iovec part = {&message, sizeof(message)};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  return recvmsg(fd, &header, 0) == kBytes;
}
bool ReceivesByRecvmmsg(int fd) {
  uint64_t message = 0;
  iovec part = {&message, sizeof(message)};
  mmsghdr header = {};
  header.msg_hdr.msg_iov = &part;
  header.msg_hdr.msg_iovlen = 1;
  return recvmmsg(fd, &header, 1, 0, nullptr) == 1;
}
bool ReceivesByEventfdRead(int fd) {
  eventfd_t value = 0;
  return eventfd_read(fd, &value) == 0 && value == kMessage;
}
bool IsReadyByPoll(int fd) {
  pollfd ready = {fd, POLLIN, 0};
  return poll(&ready, 1, -1) == 1 && (ready.revents & POLLIN) != 0;
}
bool IsReadyByPpoll(int fd) {
  pollfd ready = {fd, POLLIN, 0};
  sigset_t none;
  sigemptyset(&none);
  return ppoll(&ready, 1, nullptr, &none) == 1;
}
bool IsReadyBySelect(int fd) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  return select(fd + 1, &set, nullptr, nullptr, nullptr) == 1 && FD_ISSET(fd, &set);
}
bool IsReadyByPselect(int fd) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  return pselect(fd + 1, &set, nullptr, nullptr, nullptr, nullptr) == 1;
}
bool IsReadyByEpoll(int fd, const std::function<int(int, epoll_event*)>& wait) {
  const int epoll = epoll_create1(0);
  epoll_event event = {};
  event.events = EPOLLIN;
  EXPECT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
  const bool ready = wait(epoll, &event) == 1 && (event.events & EPOLLIN) != 0;
  close(epoll);
  return ready;
}
bool IsReadyByEpollWait(int fd) {
  return IsReadyByEpoll(fd, [](int epoll, auto* event) { return epoll_wait(epoll, event, 1, -1); });
}
bool IsReadyByEpollPwait(int fd) {
  return IsReadyByEpoll(
      fd, [](int epoll, auto* event) { return epoll_pwait(epoll, event, 1, -1, nullptr); });
}
bool IsWritableByPoll(int fd) {
  pollfd ready = {fd, POLLOUT, 0};
  return poll(&ready, 1, -1) == 1 && (ready.revents & POLLOUT) != 0;
}
bool IsAtEnd(int fd) {
  char byte;
  return read(fd, &byte, 1) == 0;
}

NamedScenario UdpWait(const char* name, bool receiver_connects) {
  return {name, [=] {
            const SharedChannel channel = NewUdp(false, receiver_connects);
            return Scenario([=] { return ReceivesByRecvfrom(channel->input); },
                            [=](std::thread&) {
                              const sockaddr_in to = LoopbackOf(channel->input);
                              EXPECT_EQ(sendto(channel->output, &kMessage, sizeof(kMessage), 0,
                                               Any(to), sizeof(to)),
                                        kBytes);
                            });
          }};
}

NamedScenario AcceptWait(const char* name, int family) {
  return {name, [=] {
            auto channel = std::make_shared<Channel>();
            channel->listener = BoundInternetSocket(family, SOCK_STREAM);
            EXPECT_EQ(listen(channel->listener, 1), 0);
            channel->output = socket(AF_INET, SOCK_STREAM, 0);
            return Scenario(
                [=] {
                  channel->input = accept(channel->listener, nullptr, nullptr);
                  return channel->input >= 0;
                },
                [=](std::thread&) {
                  const sockaddr_in to = LoopbackOf(channel->listener);
                  EXPECT_EQ(connect(channel->output, Any(to), sizeof(to)), 0);
                });
          }};
}

const NamedScenario kCredited[] = {
    ChannelWait("pipe_read", NewPipe),
    ChannelWait("pipe_readv", NewPipe, ReceivesByReadv),
    ChannelWait("pipe_writev", NewPipe, Receives,
                [](int fd) {
                  uint64_t message = kMessage;
                  const iovec part = {&message, sizeof(message)};
                  EXPECT_EQ(writev(fd, &part, 1), kBytes);
                }),
    ChannelWait("pipe_poll", NewPipe, IsReadyByPoll),
    ChannelWait("pipe_ppoll", NewPipe, IsReadyByPpoll),
    ChannelWait("pipe_select", NewPipe, IsReadyBySelect),
    ChannelWait("pipe_pselect", NewPipe, IsReadyByPselect),
    ChannelWait("pipe_epoll_wait", NewPipe, IsReadyByEpollWait),
    ChannelWait("pipe_epoll_pwait", NewPipe, IsReadyByEpollPwait),
    {"pipe_close",
     [] {
       const SharedChannel channel = NewPipe();
       return Scenario([=] { return IsAtEnd(channel->input); },
                       [=](std::thread&) { close(std::exchange(channel->output, -1)); });
     }},
    FullChannelWait("pipe_full", NewPipe),
    FullChannelWait("pipe_full_poll", NewPipe, IsWritableByPoll),
    ChannelWait("eventfd_read_call", NewEventfd),
    ChannelWait("eventfd_read_function", NewEventfd, ReceivesByEventfdRead,
                [](int fd) { EXPECT_EQ(eventfd_write(fd, kMessage), 0); }),
    ChannelWait("eventfd_poll", NewEventfd, IsReadyByPoll),
    ChannelWait("eventfd_epoll", NewEventfd, IsReadyByEpollWait),
    ChannelWait("socketpair_read", NewStreamPair),
    ChannelWait("socketpair_recv", NewStreamPair, ReceivesByRecv,
                [](int fd) { EXPECT_EQ(send(fd, &kMessage, sizeof(kMessage), 0), kBytes); }),
    ChannelWait("socketpair_recvmsg", NewStreamPair, ReceivesByRecvmsg,
                [](int fd) {
                  uint64_t message = kMessage;
                  iovec part = {&message, sizeof(message)};
                  msghdr header = {};
                  header.msg_iov = &part;
                  header.msg_iovlen = 1;
                  EXPECT_EQ(sendmsg(fd, &header, 0), kBytes);
                }),
    ChannelWait(
        "socketpair_recvmmsg", [] { return NewPair(SOCK_DGRAM); }, ReceivesByRecvmmsg),
    ChannelWait("socketpair_shutdown", NewStreamPair, IsAtEnd,
                [](int fd) { EXPECT_EQ(shutdown(fd, SHUT_WR), 0); }),
    FullChannelWait("socketpair_full", NewStreamPair),
    ChannelWait("unix_stream_to_server", [] { return NewUnixStream(false); }),
    ChannelWait("unix_stream_to_client", [] { return NewUnixStream(true); }),
    ChannelWait("tcp_read", NewTcp4),
    ChannelWait("tcp_recvfrom", NewTcp4, ReceivesByRecvfrom),
    ChannelWait("tcp_mapped_address", NewTcpMapped),
    ChannelWait("tcp_epoll", NewTcp4, IsReadyByEpollWait),
    FullChannelWait("tcp_full", NewTcp4),
    AcceptWait("tcp_accept", AF_INET),
    AcceptWait("tcp_accept_by_any_address", AF_INET6),
    UdpWait("udp_sendto", false),
    UdpWait("udp_sendto_connected_receiver", true),
    ChannelWait("udp_connected", [] { return NewUdp(true, true); }),
    ChannelWait("udp_connected_sender", [] { return NewUdp(true, false); }),
};

const NamedScenario kFromOutside[] = {
    ChannelWait("pipe_read", NewPipe, Receives, SendFromOutside),
    ChannelWait("pipe_poll", NewPipe, IsReadyByPoll, SendFromOutside),
    ChannelWait("pipe_epoll", NewPipe, IsReadyByEpollWait, SendFromOutside),
    ChannelWait("tcp_read", NewTcp4, Receives, SendFromOutside),
    {"timerfd",
     [] {
       auto channel = std::make_shared<Channel>();
       channel->input = timerfd_create(CLOCK_MONOTONIC, 0);
       return Scenario([=] { return Receives(channel->input); },
                       [=](std::thread&) {
                         itimerspec soon = {};
                         soon.it_value.tv_nsec = 1;
                         EXPECT_EQ(timerfd_settime(channel->input, 0, &soon, nullptr), 0);
                       });
     }},
    {"waitpid",
     [] {
       const SharedChannel gate = NewPipe();
       const pid_t child = fork();
       if (child == 0) {
         close(gate->output);
         char byte;
         RawSyscall(SYS_read, gate->input, &byte, 1);
         _exit(0);
       }
       return Scenario([=] { return waitpid(child, nullptr, 0) == child; },
                       [=](std::thread&) { SendFromOutside(gate->output); });
     }},
    // Data for another pipe does not count, even though a profiled thread has written it.
    {"another_pipe",
     [] {
       const SharedChannel channel = NewPipe();
       const SharedChannel other = NewPipe();
       return Scenario([=] { return Receives(channel->input); },
                       [=](std::thread&) {
                         Send(other->output);
                         SendFromOutside(channel->output);
                       });
     }},
};

class IoWaitTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  FakeProcess process_;
};
TEST_P(IoWaitTest, ReaderIsCreditedAndWriterHasPaid) {
  ExpectWakerPaysAndWaiterIsCredited(process_, GetParam());
}
INSTANTIATE_TEST_SUITE_P(All, IoWaitTest, ::testing::ValuesIn(kCredited),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

class OutsideWaitTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  FakeProcess process_;
};
TEST_P(OutsideWaitTest, IsNotCredited) { ExpectWaiterPays(process_, GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, OutsideWaitTest, ::testing::ValuesIn(kFromOutside),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

class InterposeIoTest : public ::testing::Test {
 protected:
  FakeProcess process_;
};

TEST_F(InterposeIoTest, WriterPaysOnlyOnceAndTellsEveryDelay) {
  const SharedChannel channel = NewPipe();
  const uint64_t key = FindIoKeys(channel->input, IoSide::kInput).waits[0];
  EXPECT_NE(key, 0u);
  EXPECT_EQ(WakerBy(key), 0u);
  for (uint64_t delays = 1; delays <= 3; ++delays) {
    process_.Impose(kNsPerMs);
    Send(channel->output);
    EXPECT_GE(WakerBy(key), process_.global().global_delay_ns);
    EXPECT_LE(process_.main_ledger().pauses, delays);
  }
}

TEST_F(InterposeIoTest, ReaderOfWhatWasWrittenLongAgoPays) {
  const SharedChannel channel = NewPipe();
  Send(channel->output);
  process_.Impose(kNsPerMs);
  std::thread([&] {
    EXPECT_TRUE(Receives(channel->input));
    EXPECT_EQ(CurrentThreadLedger()->credited_ns, 0u);
    EXPECT_GE(CurrentThreadLedger()->paused_ns, kNsPerMs);
  }).join();
}

TEST_F(InterposeIoTest, SleepIsFollowedByThePauseForWhatWasImposedMeanwhile) {
  WatchedThread sleeper;
  std::thread thread([&] {
    sleeper.Announce();
    const timespec duration = {0, 300 * 1000 * 1000};
    nanosleep(&duration, nullptr);
  });
  WaitUntil("it sleeps", [&] { return sleeper.IsBlocked(true); });
  process_.Impose(kNsPerMs);
  thread.join();
  EXPECT_EQ(sleeper.ledger.load()->credited_ns, 0u);
  EXPECT_GE(sleeper.ledger.load()->paused_ns, kNsPerMs);
}

TEST_F(InterposeIoTest, ErrorsAndErrnoAreLibcs) {
  process_.Impose(kNsPerMs);
  char byte = 0;
  errno = 0;
  EXPECT_EQ(read(-1, &byte, 1), -1);
  EXPECT_EQ(errno, EBADF);
  const SharedChannel channel = NewPipe();
  fcntl(channel->input, F_SETFL, O_NONBLOCK);
  process_.Impose(kNsPerMs);
  EXPECT_EQ(read(channel->input, &byte, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  process_.Impose(kNsPerMs);
  EXPECT_EQ(close(-1), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(accept(channel->input, nullptr, nullptr), -1);
  EXPECT_EQ(errno, ENOTSOCK);
  process_.Impose(kNsPerMs);
  errno = ERANGE;
  Send(channel->output);
  EXPECT_EQ(errno, ERANGE);
  EXPECT_EQ(poll(nullptr, 0, 0), 0);
  EXPECT_EQ(waitpid(-1, nullptr, 0), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(InterposeIoTest, CallsThatWaitAreCancellationPoints) {
  const SharedChannel channel = NewPipe();
  const int epoll = epoll_create1(0);
  pollfd ready = {channel->input, POLLIN, 0};
  char byte;
  const std::function<void()> waits[] = {
      [&] { EXPECT_EQ(read(channel->input, &byte, 1), 1); },
      [&] { poll(&ready, 1, -1); },
      [&] {
        epoll_event event;
        epoll_wait(epoll, &event, 1, -1);
      },
      [&] { sleep(600); },
      [&] { usleep(900 * 1000 * 1000); },
  };
  for (size_t i = 0; i < std::size(waits); ++i) {
    SCOPED_TRACE("wait " + std::to_string(i));
    WatchedThread watched;
    bool went_on = false;
    std::thread thread([&] {
      watched.Announce();
      waits[i]();
      went_on = true;
    });
    WaitUntil("it waits", [&] { return watched.IsBlocked(true); });
    pthread_cancel(thread.native_handle());
    thread.join();
    EXPECT_FALSE(went_on);
  }
  close(epoll);
}

// A handler that interrupts a wait ends it as in libc.
TEST_F(InterposeIoTest, HandlerInterruptsPoll) {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(sigaction(SIGUSR2, &action, nullptr), 0);
  const SharedChannel channel = NewPipe();
  WatchedThread watched;
  int error = 0;
  std::thread thread([&] {
    watched.Announce();
    pollfd ready = {channel->input, POLLIN, 0};
    error = poll(&ready, 1, -1) == -1 ? errno : 0;
  });
  WaitUntil("it waits", [&] { return watched.IsBlocked(true); });
  process_.Impose(kNsPerMs);
  pthread_kill(thread.native_handle(), SIGUSR2);
  thread.join();
  EXPECT_EQ(error, EINTR);
}

}  // namespace
}  // namespace coz
