// Waits through file descriptors: which threads get credit, and which do not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "coz/base/clock.h"
#include "coz/base/raw_syscall.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/io_channel.h"
#include "coz/sync/interpose/testing/wait_scenario.h"
#include "coz/sync/interpose/thread_sync.h"

namespace coz::interpose {
namespace {

using testing::Any;
using testing::BoundInternetSocket;
using testing::Channel;
using testing::FakeProcess;
using testing::kBytes;
using testing::kMessage;
using testing::LoopbackOf;
using testing::NamedScenario;
using testing::NewEventfd;
using testing::NewPair;
using testing::NewPipe;
using testing::NewStreamPair;
using testing::NewTcp4;
using testing::NewTcpMapped;
using testing::NewUdp;
using testing::NewUnixStream;
using testing::Receives;
using testing::Scenario;
using testing::Send;
using testing::SendFromOutside;
using testing::SharedChannel;
using testing::WaitUntil;

using NewChannel = std::function<SharedChannel()>;

NamedScenario ChannelWait(const char* name, const NewChannel& make,
                          const std::function<bool(int)>& wait = Receives,
                          const std::function<void(int)>& wake = Send) {
  return {name, [=] {
            const SharedChannel channel = make();
            return Scenario([=] { return wait(channel->input); },
                            [=](std::thread&) { wake(channel->output); });
          }};
}

// The writer waits for room in a full channel, and the reader makes some.
NamedScenario FullChannelWait(const char* name, const NewChannel& make,
                              const std::function<bool(int)>& wait = nullptr) {
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
bool ReceivesBySplice(int fd) {
  const SharedChannel between = NewPipe();
  return splice(fd, nullptr, between->output, nullptr, kBytes, 0) == kBytes &&
         Receives(between->input);
}
void SendBySplice(int fd) {
  const SharedChannel between = NewPipe();
  Send(between->output);
  EXPECT_EQ(splice(between->input, nullptr, fd, nullptr, kBytes, 0), kBytes);
}
void SendByCopy(int fd, ssize_t (*copy)(int, int, off_t*, size_t)) {
  Channel file;
  file.input = memfd_create("coz-test", 0);
  Send(file.input);
  off_t start = 0;
  EXPECT_EQ(copy(fd, file.input, &start, kBytes), kBytes);
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

// Sends the same message twice by one call. If `to` is null, the messages go to the connected peer.
void SendBySendmmsg(int fd, sockaddr_in* to) {
  uint64_t message = kMessage;
  iovec part = {&message, sizeof(message)};
  mmsghdr headers[2] = {};
  for (mmsghdr& header : headers) {
    header.msg_hdr.msg_iov = &part;
    header.msg_hdr.msg_iovlen = 1;
    header.msg_hdr.msg_name = to;
    header.msg_hdr.msg_namelen = to != nullptr ? sizeof(*to) : 0;
  }
  EXPECT_EQ(sendmmsg(fd, headers, 2, 0), 2);
  EXPECT_EQ(headers[1].msg_len, sizeof(message));
}

void SendBySendto(int fd, sockaddr_in* to) {
  EXPECT_EQ(sendto(fd, &kMessage, sizeof(kMessage), 0, Any(*to), sizeof(*to)), kBytes);
}

NamedScenario UdpWait(const char* name, bool receiver_connects,
                      void (*send)(int, sockaddr_in*) = SendBySendto) {
  return {name, [=] {
            const SharedChannel channel = NewUdp(false, receiver_connects);
            return Scenario([=] { return ReceivesByRecvfrom(channel->input); },
                            [=](std::thread&) {
                              sockaddr_in to = LoopbackOf(channel->input);
                              send(channel->output, &to);
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
    ChannelWait("pipe_wait_by_splice", NewPipe, ReceivesBySplice),
    ChannelWait("pipe_wake_by_splice", NewPipe, Receives, SendBySplice),
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
    ChannelWait(
        "socketpair_sendmmsg", [] { return NewPair(SOCK_DGRAM); }, ReceivesByRecvmsg,
        [](int fd) { SendBySendmmsg(fd, nullptr); }),
    ChannelWait("socketpair_shutdown", NewStreamPair, IsAtEnd,
                [](int fd) { EXPECT_EQ(shutdown(fd, SHUT_WR), 0); }),
    FullChannelWait("socketpair_full", NewStreamPair),
    ChannelWait("socketpair_sendfile", NewStreamPair, Receives,
                [](int fd) { SendByCopy(fd, sendfile); }),
    ChannelWait("socketpair_sendfile64", NewStreamPair, Receives,
                [](int fd) { SendByCopy(fd, sendfile64); }),
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
    UdpWait("udp_sendmmsg", false, SendBySendmmsg),
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

// A thread whose delay accrues has excess like any other thread.
TEST(IoExcessTest, AWaitAbsorbsTheExcessOfAThreadWhoseDelayAccrues) {
  FakeProcess process;
  constexpr uint64_t kExcessNs = 3 * kNsPerMs;
  process.Impose(kNsPerMs);
  const SharedChannel channel = NewPipe();
  testing::WatchedThread reader;
  uint64_t after_ns = 0;
  std::thread thread([&] {
    delay::ThreadLedger& ledger = *CurrentThreadLedger();
    ledger.local_delay_ns = process.global().global_delay_ns + kExcessNs;
    process.global().selection = 1;
    ledger.stretches.SetInProgressForTest(1, 0, MonotonicNowNs());
    reader.Announce();
    EXPECT_TRUE(Receives(channel->input));
    after_ns = ledger.local_delay_ns;
  });
  WaitUntil("the reader waits", [&] { return reader.IsBlocked(true); });
  PayIfBehind();
  // A writer that loses its CPU for long has more behind its call.
  const uint64_t writers_ns = process.main_ledger().local_delay_ns;
  Send(channel->output);
  thread.join();
  // The thread takes over the writer's excess.
  EXPECT_EQ(after_ns, writers_ns);
  EXPECT_NE(after_ns, process.global().global_delay_ns + kExcessNs);
}

// How long the main thread has to pause after a sleep.
uint64_t AskedBySleep(FakeProcess& process) {
  const uint64_t before_ns = process.main_ledger().asked_ns;
  usleep(1000);
  return process.main_ledger().asked_ns - before_ns;
}

TEST(AccruedDelayTest, WhoeverTheClockWakesPaysForStretchesInProgress) {
  FakeProcess process;
  process.Impose(kNsPerMs);
  AskedBySleep(process);  // after this the thread is level or has some excess
  process.main_ledger().local_delay_ns = process.global().global_delay_ns.load();
  process.RunInSelectedLine();
  EXPECT_GE(AskedBySleep(process), delay::Stretches::kMostInProgressNs / 2);
  process.main_ledger().local_delay_ns = process.global().global_delay_ns.load();
  process.global().selection = 2;  // the stretch in progress belongs to another experiment now
  EXPECT_EQ(AskedBySleep(process), 0u);
}

TEST(AccruedDelayTest, WhoeverHasSpunDoesNotPayForThatPartOfThem) {
  FakeProcess process;
  process.Impose(kNsPerMs);
  AskedBySleep(process);
  delay::ThreadLedger& main = process.main_ledger();
  main.local_delay_ns = process.global().global_delay_ns.load();
  for (int i = 0; i < 100; ++i) main.spinning.Note(true);
  main.spinning.Earn(2 * delay::Stretches::kMostInProgressNs);
  process.RunInSelectedLine();
  EXPECT_LT(AskedBySleep(process), delay::Stretches::kMostInProgressNs / 2);
}

TEST(AccruedDelayTest, WhoeverAThreadWakesDoesNot) {
  FakeProcess process;
  const SharedChannel channel = NewPipe();
  process.Impose(kNsPerMs);
  testing::WatchedThread reader;
  uint64_t asked_ns = 0;
  std::thread thread([&] {
    reader.Announce();
    EXPECT_TRUE(Receives(channel->input));
    asked_ns = CurrentThreadLedger()->asked_ns;
  });
  WaitUntil("the reader waits", [&] { return reader.IsBlocked(true); });
  process.RunInSelectedLine();
  Send(channel->output);
  thread.join();
  EXPECT_LT(asked_ns, delay::Stretches::kMostInProgressNs / 2);
}

class OutsideWaitTest : public ::testing::TestWithParam<NamedScenario> {
 protected:
  FakeProcess process_;
};
TEST_P(OutsideWaitTest, IsNotCredited) { ExpectWaiterPays(process_, GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, OutsideWaitTest, ::testing::ValuesIn(kFromOutside),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

}  // namespace
}  // namespace coz::interpose
