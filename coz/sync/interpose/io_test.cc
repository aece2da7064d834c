// Calls on file descriptors: which thread pays, and that in all else they behave as libc's.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "coz/sync/interpose/io_object.h"
#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/known_flows.h"
#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/io_channel.h"
#include "coz/sync/interpose/testing/wait_scenario.h"
#include "coz/sync/interpose/thread_sync.h"
#include "coz/sync/interpose/unix_peer.h"

extern "C" {
ssize_t __read(int fd, void* buffer, size_t count);
ssize_t __write(int fd, const void* buffer, size_t count);
ssize_t __send(int fd, const void* buffer, size_t count, int flags);
int __close(int fd);
int __connect(int fd, const sockaddr* address, socklen_t length);
int __poll(pollfd* fds, nfds_t count, int timeout_ms);
int __select(int count, fd_set* read_fds, fd_set* write_fds, fd_set* except_fds, timeval* timeout);
}

namespace coz::interpose {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::FakeProcess;
using testing::NewPipe;
using testing::Receives;
using testing::Send;
using testing::SharedChannel;
using testing::WaitUntil;
using testing::WatchedThread;

constexpr uint64_t kDelayNs = 5 * kNsPerMs;

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

TEST_F(InterposeIoTest, ReadThatBlocksAbsorbsExcess) {
  const SharedChannel channel = NewPipe();
  process_.Impose(kDelayNs);
  PayIfBehind();
  const pid_t reader = gettid();
  std::atomic<bool> reading{false};
  std::thread writer([&] {
    // Without the excess of a pause that the machine has made too long.
    CurrentThreadLedger()->local_delay_ns = process_.global().global_delay_ns.load();
    WaitUntil("the other reads", [&] { return reading.load() && testing::SleepsInKernel(reader); });
    EXPECT_EQ(write(channel->output, "x", 1), 1);
  });
  process_.main_ledger().local_delay_ns = process_.global().global_delay_ns + kDelayNs;
  reading = true;
  char byte;
  EXPECT_EQ(read(channel->input, &byte, 1), 1);
  EXPECT_LT(process_.main_ledger().local_delay_ns, process_.global().global_delay_ns + kDelayNs);
  EXPECT_GE(process_.main_ledger().local_delay_ns, process_.global().global_delay_ns);
  writer.join();
}

TEST_F(InterposeIoTest, ReadOfWhatIsThereKeepsExcess) {
  const SharedChannel channel = NewPipe();
  process_.Impose(kDelayNs);
  EXPECT_EQ(write(channel->output, "x", 1), 1);
  const uint64_t ahead_ns = process_.main_ledger().local_delay_ns += kDelayNs;
  char byte;
  EXPECT_EQ(read(channel->input, &byte, 1), 1);
  EXPECT_EQ(process_.main_ledger().local_delay_ns, ahead_ns);
}

TEST_F(InterposeIoTest, StretchGoesOnInOutputAndStopsAtAWait) {
  process_.global().selection = 1;
  delay::Stretches& stretches = process_.main_ledger().stretches;
  const auto runs = [&] { return stretches.is_running_at(MonotonicNowNs()) ? 1 : 0; };
  const auto nobody = [](int) { return uint64_t{0}; };
  stretches.SetInProgressForTest(1, 0, MonotonicNowNs());
  EXPECT_EQ(WaitForIo<IoWait::kOutput>(runs, nobody), 1);
  EXPECT_EQ(WaitForIo(runs, nobody), 0);
  EXPECT_EQ(runs(), 1);
}

TEST_F(InterposeIoTest, ReadThatCopiesForLongKeepsExcess) {
  const SharedChannel channel = NewPipe();
  constexpr int kMuch = 1 << 20;
  ASSERT_EQ(fcntl(channel->output, F_SETPIPE_SZ, kMuch), kMuch);
  std::vector<char> much(kMuch);
  for (int round = 0; round < 2; ++round) {
    process_.Impose(kDelayNs);
    EXPECT_EQ(write(channel->output, much.data(), much.size()), kMuch);
    const uint64_t ahead_ns = process_.main_ledger().local_delay_ns += kDelayNs;
    EXPECT_EQ(read(channel->input, much.data(), much.size()), kMuch);
    // In the first round the thread may have given up its CPU before.
    if (round == 0) continue;
    EXPECT_EQ(process_.main_ledger().local_delay_ns, ahead_ns);
  }
}

// The main thread is level. It reads what a thread with an excess of kDelayNs has written.
TEST_F(InterposeIoTest, ReadThatBlocksTakesOverTheWritersExcess) {
  const SharedChannel channel = NewPipe();
  process_.Impose(kDelayNs);
  PayIfBehind();
  process_.main_ledger().local_delay_ns = process_.global().global_delay_ns.load();
  const pid_t reader = gettid();
  std::thread writer([&, start_ns = MonotonicNowNs()] {
    PayIfBehind();
    WaitUntil("the other has waited for as long as the excess", [&] {
      return testing::SleepsInKernel(reader) && MonotonicNowNs() > start_ns + 4 * kDelayNs;
    });
    CurrentThreadLedger()->local_delay_ns = process_.global().global_delay_ns + kDelayNs;
    EXPECT_EQ(write(channel->output, "x", 1), 1);
  });
  char byte;
  EXPECT_EQ(read(channel->input, &byte, 1), 1);
  EXPECT_EQ(process_.main_ledger().local_delay_ns, process_.global().global_delay_ns + kDelayNs);
  writer.join();
}

TEST_F(InterposeIoTest, WriterTellsWhenItsExcessIsGone) {
  const SharedChannel channel = NewPipe();
  const uint64_t key = FindIoKeys(channel->input, IoSide::kInput).waits[0];
  process_.Impose(kDelayNs);
  PayIfBehind();
  const uint64_t global_ns = process_.global().global_delay_ns;
  for (const uint64_t excess_ns : {kDelayNs, uint64_t{0}, 2 * kDelayNs}) {
    process_.main_ledger().local_delay_ns = global_ns + excess_ns;
    Send(channel->output);
    EXPECT_EQ(WakerBy(key), global_ns + excess_ns);
  }
}

TEST_F(InterposeIoTest, ConnectedSocketsAreKnownHoweverOftenDescriptorsAreUsedAgain) {
  for (int i = 0; i < 3; ++i) {
    const SharedChannel channel = testing::NewTcp4();
    for (int asked = 0; asked < 2; ++asked) {
      const uint64_t wakes = FindIoKeys(channel->output, IoSide::kOutput).wakes[0];
      EXPECT_NE(wakes, 0u);
      EXPECT_EQ(FindIoKeys(channel->input, IoSide::kInput).waits[0], wakes);
    }
  }
}

TEST(KnownFlowsTest, FlowsAreOfOneDescriptorAndInode) {
  static KnownFlows known;
  Flows flows;
  EXPECT_FALSE(known.Find(3, 7, &flows));
  known.Note(3, 7, {{1, 2}, {3, 4}});
  ASSERT_TRUE(known.Find(3, 7, &flows));
  EXPECT_THAT(flows.in, ElementsAre(1, 2));
  EXPECT_THAT(flows.out, ElementsAre(3, 4));
  EXPECT_FALSE(known.Find(3, 8, &flows));
  EXPECT_FALSE(known.Find(4, 7, &flows));
  constexpr int kInTheSamePlace = 3 + 1024;
  EXPECT_FALSE(known.FindByDescriptor(kInTheSamePlace, &flows));
  known.Drop(kInTheSamePlace);
  EXPECT_TRUE(known.Find(3, 7, &flows));
  known.Note(3, 8, {{3}, {4}});
  EXPECT_FALSE(known.Find(3, 7, &flows));
}

TEST(KnownFlowsTest, TheInodeIsAskedForAgainNowAndThen) {
  static KnownFlows known;
  Flows flows;
  EXPECT_FALSE(known.FindByDescriptor(3, &flows));
  known.Note(3, 7, {{1}, {2}});
  int uses = 0;
  while (known.FindByDescriptor(3, &flows)) ++uses;
  EXPECT_EQ(uses, 32);
  ASSERT_TRUE(known.Find(3, 7, &flows));
  EXPECT_TRUE(known.FindByDescriptor(3, &flows));
}

TEST(KnownFlowsTest, WhatIsDroppedIsNotKnownByItsInodeEither) {
  static KnownFlows known;
  Flows flows;
  known.Note(3, 7, {{1}, {2}});
  known.Drop(3);
  EXPECT_FALSE(known.FindByDescriptor(3, &flows));
  EXPECT_FALSE(known.Find(3, 7, &flows));
}

TEST(KnownFlowsTest, OnlyStreamsAreStreams) {
  static KnownFlows known;
  EXPECT_FALSE(known.IsStream(3));
  known.Note(3, 7, {{1}, {2}}, KnownFlows::Object::kStream);
  EXPECT_TRUE(known.IsStream(3));
  known.Note(3, 8, {{1}, {2}});
  EXPECT_FALSE(known.IsStream(3));
}

TEST(KnownFlowsTest, APeerIsNoFlowAndIsForgottenOnceThereAreFlows) {
  static KnownFlows known;
  Flows flows;
  KnownFlows::Object object;
  EXPECT_EQ(known.PeerOf(3, &object), 0u);
  known.NotePeer(3, 9, KnownFlows::Object::kToPeer);
  EXPECT_EQ(known.PeerOf(3, &object), 9u);
  EXPECT_EQ(object, KnownFlows::Object::kToPeer);
  EXPECT_EQ(known.PeerOf(3 + 1024, &object), 0u);
  EXPECT_FALSE(known.FindByDescriptor(3, &flows));
  EXPECT_FALSE(known.Find(3, 7, &flows));
  EXPECT_FALSE(known.IsStream(3));
  known.NotePeer(3, 9, KnownFlows::Object::kStreamToPeer);
  EXPECT_TRUE(known.IsStream(3));
  known.Note(3, KnownFlows::kNewInode, {{1}, {2}}, KnownFlows::Object::kStream);
  EXPECT_EQ(known.PeerOf(3, &object), 0u);
  EXPECT_TRUE(known.FindByDescriptor(3, &flows));
  EXPECT_EQ(flows.in[0], 1u);
  known.NotePeer(3, 9, KnownFlows::Object::kStreamToPeer);
  known.Drop(3);
  EXPECT_EQ(known.PeerOf(3, &object), 0u);
}

struct KnownChannel {
  const char* name;
  SharedChannel (*make)();
};
void PrintTo(const KnownChannel& channel, std::ostream* out) { *out << channel.name; }

class KnownChannelTest : public ::testing::TestWithParam<KnownChannel> {
 protected:
  FakeProcess process_;
};

// A server asks at each request, and each system call of coz is as long as one of the program's.
TEST_P(KnownChannelTest, IsFoundTheSecondTimeWithoutASystemCall) {
  const SharedChannel channel = GetParam().make();
  const IoKeys input = FindIoKeys(channel->input, IoSide::kInput);
  const IoKeys output = FindIoKeys(channel->output, IoSide::kOutput);
  EXPECT_NE(input.waits[0], 0u);
  const std::set<int> ends = {channel->input, channel->output};
  for (const int fd : ends) ASSERT_EQ(syscall(SYS_close, fd), 0);  // the kernel knows them no more
  EXPECT_THAT(FindIoKeys(channel->input, IoSide::kInput).waits, ElementsAreArray(input.waits));
  EXPECT_THAT(FindIoKeys(channel->output, IoSide::kOutput).wakes, ElementsAreArray(output.wakes));
  for (const int fd : ends) NoteNewMeaning(fd);
  EXPECT_THAT(FindIoKeys(channel->input, IoSide::kInput).waits, Each(0));
  EXPECT_THAT(FindIoKeys(channel->output, IoSide::kOutput).wakes, Each(0));
  channel->input = channel->output = -1;
}
INSTANTIATE_TEST_SUITE_P(
    All, KnownChannelTest,
    ::testing::Values(KnownChannel{"Pipe", testing::NewPipe},
                      KnownChannel{"Eventfd", testing::NewEventfd},
                      KnownChannel{"Pair", testing::NewStreamPair},
                      KnownChannel{"Tcp", testing::NewTcp4},
                      KnownChannel{"Unix", [] { return testing::NewUnixStream(false); }},
                      KnownChannel{"Udp", [] { return testing::NewUdp(false, false); }},
                      KnownChannel{"ConnectedUdp", [] { return testing::NewUdp(true, true); }}),
    [](const auto& of) { return of.param.name; });

// How a connection is made: to which address, whether connect waits for it, and how many bytes
// accept may write where it says who calls.
struct NewConnectionCase {
  const char* name;
  int family = AF_INET;
  uint32_t host = INADDR_LOOPBACK;
  int flags = 0;
  socklen_t capacity = sizeof(sockaddr_in6);
  bool server_is_told = true;
};
void PrintTo(const NewConnectionCase& of, std::ostream* out) { *out << of.name; }

class NewConnectionTest : public ::testing::TestWithParam<NewConnectionCase> {
 protected:
  void SetUp() override {
    const NewConnectionCase& of = GetParam();
    channel_.listener = testing::BoundInternetSocket(of.family, SOCK_STREAM);
    ASSERT_EQ(listen(channel_.listener, 1), 0);
    sockaddr_in address = testing::LoopbackOf(channel_.listener);
    address.sin_addr.s_addr = htonl(of.host);
    channel_.output = socket(AF_INET, SOCK_STREAM | of.flags, 0);
    const int result = connect(channel_.output, testing::Any(address), sizeof(address));
    ASSERT_TRUE(result == 0 || (of.flags != 0 && errno == EINPROGRESS));
    sockaddr_in6 caller = {};
    socklen_t length = of.capacity;
    channel_.input = accept(channel_.listener, reinterpret_cast<sockaddr*>(&caller), &length);
    ASSERT_GE(channel_.input, 0);
  }

  // Ends the connection unseen, so that the kernel no longer says who the peer of `fd` was.
  static void Reset(int fd, int* peer) {
    const linger now = {1, 0};
    ASSERT_EQ(setsockopt(*peer, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    ASSERT_EQ(syscall(SYS_close, *peer), 0);
    *peer = -1;
    sockaddr_in6 address = {};
    socklen_t length = sizeof(address);
    ASSERT_EQ(getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length), -1);
  }

  FakeProcess process_;
  testing::Channel channel_;
};

TEST_P(NewConnectionTest, BothEndsHaveTheFlowsThatTheKernelTellsOf) {
  const uint64_t arrival = FindIoKeys(channel_.input, IoSide::kInput).waits[0];
  const uint64_t room = FindIoKeys(channel_.input, IoSide::kInput).wakes[0];
  EXPECT_NE(arrival, 0u);
  EXPECT_EQ(FindIoKeys(channel_.output, IoSide::kOutput).wakes[0], arrival);
  EXPECT_EQ(FindIoKeys(channel_.output, IoSide::kOutput).waits[0], room);
  EXPECT_NE(FindIoKeys(channel_.output, IoSide::kInput).waits[0], arrival);
  for (const int fd : {channel_.input, channel_.output}) NoteNewMeaning(fd);
  EXPECT_EQ(FindIoKeys(channel_.input, IoSide::kInput).waits[0], arrival);
  EXPECT_EQ(FindIoKeys(channel_.output, IoSide::kOutput).wakes[0], arrival);
}

TEST_P(NewConnectionTest, AServerThatWasToldOfItsPeerNeedNotAsk) {
  const uint64_t arrival = FindIoKeys(channel_.output, IoSide::kOutput).wakes[0];
  Reset(channel_.input, &channel_.output);
  const uint64_t found = FindIoKeys(channel_.input, IoSide::kInput).waits[0];
  EXPECT_EQ(found == arrival, GetParam().server_is_told);
}

TEST_P(NewConnectionTest, AClientThatHasNamedItsPeerNeedNotAsk) {
  const uint64_t arrival = FindIoKeys(channel_.input, IoSide::kInput).waits[0];
  Reset(channel_.output, &channel_.input);
  const uint64_t found = FindIoKeys(channel_.output, IoSide::kOutput).wakes[0];
  EXPECT_EQ(found == arrival, GetParam().host != INADDR_ANY);
}

INSTANTIATE_TEST_SUITE_P(
    All, NewConnectionTest,
    ::testing::Values(NewConnectionCase{"Internet"}, NewConnectionCase{"Mapped", AF_INET6},
                      NewConnectionCase{"ToNoHost", AF_INET, INADDR_ANY},
                      NewConnectionCase{"GoesOnConnecting", AF_INET, INADDR_LOOPBACK,
                                        SOCK_NONBLOCK},
                      NewConnectionCase{"CallerCut", AF_INET, INADDR_LOOPBACK, 0, 4, false}),
    [](const auto& of) { return of.param.name; });

TEST_F(InterposeIoTest, ASocketThatIsConnectedToAnotherPeerHasOtherFlows) {
  const SharedChannel first = testing::NewUdp(true, true);
  const SharedChannel second = testing::NewUdp(true, true);
  const uint64_t to_first = FindIoKeys(first->output, IoSide::kOutput).wakes[0];
  const sockaddr_in address = testing::LoopbackOf(second->input);
  ASSERT_EQ(connect(first->output, testing::Any(address), sizeof(address)), 0);
  const uint64_t to_second = FindIoKeys(first->output, IoSide::kOutput).wakes[0];
  EXPECT_NE(to_second, 0u);
  EXPECT_NE(to_second, to_first);
}

TEST_F(InterposeIoTest, ASocketIsKnownOnceItHasAnAddress) {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  EXPECT_EQ(FindIoKeys(fd, IoSide::kInput).waits[0], 0u);
  const SharedChannel other = testing::NewUdp(false, false);
  const sockaddr_in to = testing::LoopbackOf(other->input);
  const uint64_t message = testing::kMessage;
  ASSERT_EQ(sendto(fd, &message, sizeof(message), 0, testing::Any(to), sizeof(to)),
            testing::kBytes);  // and so is bound
  const sockaddr_in own = testing::LoopbackOf(fd);
  EXPECT_EQ(FindIoKeys(fd, IoSide::kInput).waits[0], ArrivalKey(testing::Any(own), sizeof(own)));
  EXPECT_EQ(close(fd), 0);
}

TEST_F(InterposeIoTest, AStreamSocketIsNotTakenForItsAddressBeforeItIsConnected) {
  const SharedChannel server = testing::NewTcp4();
  const int fd = testing::BoundInternetSocket(AF_INET, SOCK_STREAM);
  const uint64_t before = FindIoKeys(fd, IoSide::kInput).waits[0];
  const sockaddr_in address = testing::LoopbackOf(server->listener);
  // By a call that coz does not see.
  ASSERT_EQ(syscall(SYS_connect, fd, testing::Any(address), sizeof(address)), 0);
  EXPECT_NE(FindIoKeys(fd, IoSide::kInput).waits[0], before);
  EXPECT_EQ(close(fd), 0);
}

// A descriptor without an inode of its own is not mistaken for an earlier one with the same number.
TEST_F(InterposeIoTest, NewEpollInstanceIsAnother) {
  const std::function<int()> calls[] = {[] { return epoll_create(1); },
                                        [] { return epoll_create1(0); }};
  for (const auto& make : calls) {
    const int first = make();
    ASSERT_GE(first, 0);
    const uint64_t first_key = EpollKey(first);
    EXPECT_EQ(close(first), 0);
    const int second = make();
    EXPECT_EQ(second, first);
    EXPECT_NE(EpollKey(second), first_key);
    EXPECT_EQ(close(second), 0);
  }
  process_.Impose(kNsPerMs);
  errno = 0;
  EXPECT_EQ(epoll_create(0), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(InterposeIoTest, ErrorsOfMessagesAreLibcs) {
  process_.Impose(kNsPerMs);
  errno = 0;
  EXPECT_EQ(sendmmsg(-1, nullptr, 0, 0), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_GE(process_.main_ledger().paused_ns, kNsPerMs);
  const SharedChannel pair = testing::NewStreamPair();
  EXPECT_EQ(sendmmsg(pair->output, nullptr, 1, 0), -1);
  EXPECT_EQ(errno, EFAULT);
  errno = 0;
  EXPECT_EQ(sendmsg(pair->output, nullptr, 0), -1);
  EXPECT_EQ(errno, EFAULT);
}

TEST_F(InterposeIoTest, EverySocketOfANewPairFindsTheOther) {
  for (int i = 0; i < 20'000; ++i) {
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    for (int end : {0, 1}) {
      const uint64_t wakes = FindIoKeys(fds[end], IoSide::kOutput).wakes[0];
      EXPECT_NE(wakes, 0u) << "pair " << i;
      EXPECT_EQ(FindIoKeys(fds[1 - end], IoSide::kInput).waits[0], wakes) << "pair " << i;
    }
    close(fds[0]);
    close(fds[1]);
  }
}

// All that a server accepts have its address, and their clients have none.
TEST_F(InterposeIoTest, ConnectionsToAUnixSocketAreToldApart) {
  const SharedChannel first = testing::NewUnixStream(/*flipped=*/false);
  sockaddr_un address = {};
  socklen_t length = sizeof(address);
  ASSERT_EQ(getsockname(first->listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  testing::Channel second;
  second.output = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(connect(second.output, testing::Any(address), length), 0);
  const uint64_t before_accept = FindIoKeys(second.output, IoSide::kInput).waits[0];
  second.input = accept(first->listener, nullptr, nullptr);
  ASSERT_GE(second.input, 0);
  std::set<uint64_t> keys;
  for (testing::Channel* channel : {&*first, &second}) {
    for (const auto& [from, to] :
         {std::pair(channel->output, channel->input), std::pair(channel->input, channel->output)}) {
      const uint64_t wakes = FindIoKeys(from, IoSide::kOutput).wakes[0];
      EXPECT_EQ(FindIoKeys(to, IoSide::kInput).waits[0], wakes);
      EXPECT_TRUE(keys.insert(wakes).second);
    }
  }
  EXPECT_EQ(FindIoKeys(second.input, IoSide::kOutput).wakes[0], before_accept);
}

// As the workers of a server do.
TEST_F(InterposeIoTest, EveryEpollInstanceOfAListenerIsWokenByAConnection) {
  const SharedChannel channel = testing::NewUnixStream(/*flipped=*/false);
  sockaddr_un address = {};
  socklen_t length = sizeof(address);
  ASSERT_EQ(getsockname(channel->listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  std::vector<int> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(epoll_create1(0));
    epoll_event event = {EPOLLIN, {}};
    ASSERT_EQ(epoll_ctl(workers.back(), EPOLL_CTL_ADD, channel->listener, &event), 0);
    EXPECT_EQ(WakerBy(EpollKey(workers.back())), 0u);
  }
  process_.Impose(kNsPerMs);
  const int client = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(connect(client, testing::Any(address), length), 0);
  for (const int worker : workers) {
    EXPECT_EQ(WakerBy(EpollKey(worker)), process_.main_ledger().local_delay_ns);
    close(worker);
  }
  close(client);
}

TEST(UnixPeerTest, IsTheOtherEndAndUnknownWhereThereIsNone) {
  const SharedChannel channel = testing::NewUnixStream(/*flipped=*/false);
  const auto inode_of = [](int fd) {
    struct stat status = {};
    EXPECT_EQ(fstat(fd, &status), 0);
    return uint64_t{status.st_ino};
  };
  errno = ERANGE;
  EXPECT_EQ(UnixPeerOf(inode_of(channel->output)), inode_of(channel->input));
  EXPECT_EQ(UnixPeerOf(inode_of(channel->input)), inode_of(channel->output));
  EXPECT_EQ(UnixPeerOf(inode_of(channel->listener)), 0u);
  EXPECT_EQ(UnixPeerOf(inode_of(testing::NewTcp4()->input)), std::nullopt);
  EXPECT_EQ(UnixPeerOf(0), std::nullopt);
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const uint64_t inode = inode_of(channel->output);
  const rlimit none = {0, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(UnixPeerOf(inode), 0u) << "it is asked again once there are descriptors";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(UnixPeerOf(~uint64_t{0}), std::nullopt);
  EXPECT_EQ(errno, ERANGE);
}

TEST_F(InterposeIoTest, SleepIsFollowedByThePauseForWhatWasImposedMeanwhile) {
  WatchedThread sleeper;
  std::thread thread([&] {
    sleeper.Announce();
    const timespec duration = {0, 300'000'000};
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

// libc has one function under both names, and programs may be bound to either name.
TEST_F(InterposeIoTest, SecondNamesAreTheSameCalls) {
  EXPECT_EQ(__read, read);
  EXPECT_EQ(__write, write);
  EXPECT_EQ(__send, send);
  EXPECT_EQ(__close, close);
  EXPECT_EQ(__connect, connect);
  EXPECT_EQ(__poll, poll);
  EXPECT_EQ(__select, select);
}

}  // namespace
}  // namespace coz::interpose
