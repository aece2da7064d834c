#include "coz/sync/interpose/testing/io_channel.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "coz/base/raw_syscall.h"

namespace coz::testing {

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

int BoundInternetSocket(int family, int type) {
  const int fd = socket(family, type, 0);
  if (family == AF_INET) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd, Any(address), sizeof(address)), 0);
  } else {
    sockaddr_in6 address = {};  // for any host, IPv4 included
    address.sin6_family = AF_INET6;
    EXPECT_EQ(bind(fd, Any(address), sizeof(address)), 0);
  }
  return fd;
}

sockaddr_in LoopbackOf(int fd) {
  sockaddr_in6 bound = {};
  socklen_t length = sizeof(bound);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length), 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = bound.sin6_port;  // the port is at the same place in both structs
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

SharedChannel NewUnixStream(bool flipped) {
  auto channel = std::make_shared<Channel>();
  channel->listener = socket(AF_UNIX, SOCK_STREAM, 0);
  // The kernel picks an abstract name. It leaves no file behind, and it is unique. A name from the
  // process ID would not be: tests in different sandboxes may have the same process ID.
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  EXPECT_EQ(bind(channel->listener, Any(address), sizeof(address.sun_family)), 0);
  EXPECT_EQ(listen(channel->listener, 1), 0);
  socklen_t length = sizeof(address);
  EXPECT_EQ(getsockname(channel->listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
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

bool Receives(int fd) {
  uint64_t message = 0;
  return read(fd, &message, sizeof(message)) == kBytes && message == kMessage;
}

void Send(int fd) { EXPECT_EQ(write(fd, &kMessage, sizeof(kMessage)), kBytes); }

void SendFromOutside(int fd) {
  EXPECT_EQ(RawSyscall(SYS_write, fd, &kMessage, sizeof(kMessage)), kBytes);
}

}  // namespace coz::testing
