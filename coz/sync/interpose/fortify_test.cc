// The calls that a program built with _FORTIFY_SOURCE makes instead of read, poll and others. They
// are the same waits, and keep libc's check of the buffer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <functional>
#include <string>
#include <thread>

#include "coz/sync/interpose/testing/fake_process.h"
#include "coz/sync/interpose/testing/io_channel.h"
#include "coz/sync/interpose/testing/wait_scenario.h"
#include "coz/sync/interpose/thread_sync.h"

// libc's headers declare these only to such programs.
extern "C" {
ssize_t __read_chk(int fd, void* buffer, size_t count, size_t capacity);
ssize_t __recv_chk(int fd, void* buffer, size_t count, size_t capacity, int flags);
ssize_t __recvfrom_chk(int fd, void* buffer, size_t count, size_t capacity, int flags,
                       sockaddr* address, socklen_t* length);
int __poll_chk(pollfd* fds, nfds_t count, int timeout_ms, size_t capacity);
int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask,
                size_t capacity);
}

namespace coz::interpose {
namespace {

using testing::FakeProcess;
using testing::kMessage;
using testing::NamedScenario;
using testing::NewStreamPair;
using testing::Scenario;
using testing::Send;
using testing::SendFromOutside;
using testing::SharedChannel;

// A call with a buffer for `room` messages that asks for one message.
struct CheckedCall {
  const char* name;
  std::function<int(int fd, size_t room)>
      call;  // returns 1 where the message has come, else libc's 0 or -1
};

// Takes the message by reference, because it is there only after the call.
int Messages(ssize_t bytes, const uint64_t& message) {
  if (bytes != static_cast<ssize_t>(sizeof(message))) return static_cast<int>(bytes);
  return message == kMessage ? 1 : 2;
}

const CheckedCall kCalls[] = {
    {"read",
     [](int fd, size_t room) {
       uint64_t message = 0;
       return Messages(__read_chk(fd, &message, sizeof(message), room * sizeof(message)), message);
     }},
    {"recv",
     [](int fd, size_t room) {
       uint64_t message = 0;
       const size_t bytes = sizeof(message);
       return Messages(__recv_chk(fd, &message, bytes, room * bytes, 0), message);
     }},
    {"recvfrom",
     [](int fd, size_t room) {
       uint64_t message = 0;
       const size_t bytes = sizeof(message);
       return Messages(__recvfrom_chk(fd, &message, bytes, room * bytes, 0, nullptr, nullptr),
                       message);
     }},
    {"poll",
     [](int fd, size_t room) {
       pollfd ready = {fd, POLLIN, 0};
       const int timeout_ms = (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0 ? 1 : -1;
       const int result = __poll_chk(&ready, 1, timeout_ms, room * sizeof(ready));
       return result == 1 && ready.revents != POLLIN ? 2 : result;
     }},
    {"ppoll",
     [](int fd, size_t room) {
       pollfd ready = {fd, POLLIN, 0};
       sigset_t none;
       sigemptyset(&none);
       const timespec soon = {0, 1};
       const timespec* timeout = (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0 ? &soon : nullptr;
       const int result = __ppoll_chk(&ready, 1, timeout, &none, room * sizeof(ready));
       return result == 1 && ready.revents != POLLIN ? 2 : result;
     }},
};

class FortifiedCallTest : public ::testing::TestWithParam<CheckedCall> {
 protected:
  // A scenario in which the call waits for `send`.
  NamedScenario Wait(void (*send)(int)) const {
    return {GetParam().name, [call = GetParam().call, send] {
              const SharedChannel channel = NewStreamPair();
              return Scenario([=] { return call(channel->input, 1) == 1; },
                              [=](std::thread&) { send(channel->output); });
            }};
  }

  FakeProcess process_;
};

TEST_P(FortifiedCallTest, WaiterIsCreditedAndWakerHasPaid) {
  ExpectWakerPaysAndWaiterIsCredited(process_, Wait(Send));
}

TEST_P(FortifiedCallTest, WaiterForTheOutsideIsNotCredited) {
  ExpectWaiterPays(process_, Wait(SendFromOutside));
}

TEST_P(FortifiedCallTest, PaysBeforeItFindsNothing) {
  const SharedChannel channel = NewStreamPair();
  ASSERT_EQ(fcntl(channel->input, F_SETFL, O_NONBLOCK), 0);
  delay::ThreadLedger* ledger = LeaveThreadSync();
  errno = ERANGE;
  const int of_libc = GetParam().call(channel->input, 1);
  const int error_of_libc = errno;
  EnterThreadSync(ledger, process_.global().global_delay_ns);
  EXPECT_LE(of_libc, 0);
  process_.Impose(kNsPerMs);
  errno = ERANGE;
  EXPECT_EQ(GetParam().call(channel->input, 1), of_libc);
  EXPECT_EQ(errno, error_of_libc);
  EXPECT_GE(ledger->paused_ns, kNsPerMs);
  EXPECT_EQ(ledger->credited_ns, 0u);
}

TEST_P(FortifiedCallTest, EndsAProgramWhoseBufferIsTooSmall) {
  const SharedChannel channel = NewStreamPair();
  Send(channel->output);
  EXPECT_DEATH(GetParam().call(channel->input, 0), "buffer overflow detected");
  process_.Impose(kNsPerMs);
  EXPECT_DEATH(GetParam().call(channel->input, 0), "buffer overflow detected");
}

INSTANTIATE_TEST_SUITE_P(AllCalls, FortifiedCallTest, ::testing::ValuesIn(kCalls),
                         [](const auto& call) { return std::string(call.param.name); });

}  // namespace
}  // namespace coz::interpose
