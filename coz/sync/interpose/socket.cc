// Sockets. Process: target. Context: the program's threads.
#include <sys/socket.h>

#include <cerrno>

#include "coz/sync/interpose/io_object.h"
#include "coz/sync/interpose/io_wait.h"
#include "coz/sync/interpose/lately_readable.h"
#include "coz/sync/interpose/system_call.h"
#include "coz/sync/interpose/wrapped_calls.h"

namespace coz::interpose {
namespace {

// Sends to an address, if one is given. The receiver is then not the descriptor's other side.
template <typename Call>
auto SendTo(int fd, const void* address, socklen_t length, Call call) {
  if (address != nullptr) {
    PayBeforeWaking(ArrivalKey(static_cast<const sockaddr*>(address), length));
  }
  return CallIo(fd, IoSide::kOutput, call);
}

// Returns an empty header where the message cannot be read: the call itself reports the error; and
// where a connected stream needs no address. To find out what can be read is a system call.
msghdr HeaderAt(int fd, const msghdr* message) {
  if (IsKnownStream(fd)) return msghdr{};
  return IsLatelyReadable(message, sizeof(*message)) ? *message : msghdr{};
}

msghdr FirstHeaderAt(int fd, const mmsghdr* messages, unsigned count) {
  return count > 0 ? HeaderAt(fd, &messages[0].msg_hdr) : msghdr{};
}

// What accept is given for the peer's address, and what came of it.
class PeerAddress {
 public:
  PeerAddress(const sockaddr* address, const socklen_t* length) {
    if (address == nullptr || CurrentThreadLedger() == nullptr) return;
    if (!IsLatelyReadable(length, sizeof(*length))) return;
    address_ = address;
    length_ = length;
    capacity_ = *length;
  }

  void Note(int accepted) const {
    if (accepted < 0) return;
    NoteNewMeaning(accepted);  // where the program closes descriptors unseen
    if (address_ == nullptr || *length_ > capacity_) return;
    NotePeer(accepted, address_, *length_, NewConnection::kStream);
  }

 private:
  const sockaddr* address_ = nullptr;
  const socklen_t* length_ = nullptr;
  socklen_t capacity_ = 0;
};

template <typename Call>
int Accept(int fd, const sockaddr* address, const socklen_t* length, Call call) {
  const PeerAddress peer(address, length);
  const int accepted = CallIo(fd, IoSide::kInput, call);
  peer.Note(accepted);
  return accepted;
}

// Only a stream goes on connecting.
void NoteConnecting(int fd, const sockaddr* address, socklen_t length, int result) {
  NoteNewMeaning(fd);
  if (CurrentThreadLedger() == nullptr) return;
  if (result == 0) {
    NotePeer(fd, address, length, NewConnection::kMayBeStream);
  } else if (errno == EINPROGRESS) {
    NotePeer(fd, address, length, NewConnection::kStream);
  }
}

}  // namespace

long MoveData(const SystemCall& call) {
  const auto fd = static_cast<int>(call.a);
  switch (call.number) {
    case SYS_sendto:
      return SendTo(fd, reinterpret_cast<const void*>(call.e), static_cast<socklen_t>(call.f),
                    call);
    case SYS_sendmsg: {
      const msghdr given = HeaderAt(fd, reinterpret_cast<const msghdr*>(call.b));
      return SendTo(fd, given.msg_name, given.msg_namelen, call);
    }
    case SYS_sendmmsg: {
      const msghdr first = FirstHeaderAt(fd, reinterpret_cast<const mmsghdr*>(call.b),
                                         static_cast<unsigned>(call.c));
      return SendTo(fd, first.msg_name, first.msg_namelen, call);
    }
    case SYS_write:
    case SYS_writev:
      return CallIo(fd, IoSide::kOutput, call);
    default:
      return CallIo(fd, IoSide::kInput, call);
  }
}

}  // namespace coz::interpose

using coz::interpose::CallIo;
using coz::interpose::g_real;
using coz::interpose::IoSide;
using coz::interpose::SendTo;

extern "C" {

int socketpair(int domain, int type, int protocol, int fds[2]) noexcept {
  const int result = g_real.socketpair(domain, type, protocol, fds);
  if (result == 0 && coz::interpose::CurrentThreadLedger() != nullptr)
    coz::interpose::NoteSocketPair(fds);
  return result;
}

int accept(int fd, sockaddr* address, socklen_t* length) {
  return coz::interpose::Accept(fd, address, length,
                                [=] { return g_real.accept(fd, address, length); });
}

int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  return coz::interpose::Accept(fd, address, length,
                                [=] { return g_real.accept4(fd, address, length, flags); });
}

int connect(int fd, const sockaddr* address, socklen_t length) {
  const int result =
      SendTo(fd, address, length, [=] { return g_real.connect(fd, address, length); });
  coz::interpose::NoteConnecting(fd, address, length, result);
  return result;
}
COZ_SECOND_NAME(__connect, connect);

int shutdown(int fd, int how) noexcept {
  coz::interpose::PayBeforeIo(fd, IoSide::kOutput);
  coz::interpose::PayBeforeIo(fd, IoSide::kInput);
  return g_real.shutdown(fd, how);
}

ssize_t recv(int fd, void* buffer, size_t count, int flags) {
  return CallIo(fd, IoSide::kInput, [=] { return g_real.recv(fd, buffer, count, flags); });
}

ssize_t __recv_chk(int fd, void* buffer, size_t count, size_t capacity, int flags) {
  return CallIo(fd, IoSide::kInput,
                [=] { return g_real.__recv_chk(fd, buffer, count, capacity, flags); });
}

ssize_t recvfrom(int fd, void* buffer, size_t count, int flags, sockaddr* address,
                 socklen_t* length) {
  return CallIo(fd, IoSide::kInput,
                [=] { return g_real.recvfrom(fd, buffer, count, flags, address, length); });
}

ssize_t __recvfrom_chk(int fd, void* buffer, size_t count, size_t capacity, int flags,
                       sockaddr* address, socklen_t* length) {
  return CallIo(fd, IoSide::kInput, [=] {
    return g_real.__recvfrom_chk(fd, buffer, count, capacity, flags, address, length);
  });
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return CallIo(fd, IoSide::kInput, [=] { return g_real.recvmsg(fd, message, flags); });
}

int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  return CallIo(fd, IoSide::kInput,
                [=] { return g_real.recvmmsg(fd, messages, count, flags, timeout); });
}

ssize_t send(int fd, const void* buffer, size_t count, int flags) {
  return CallIo(fd, IoSide::kOutput, [=] { return g_real.send(fd, buffer, count, flags); });
}
COZ_SECOND_NAME(__send, send);

ssize_t sendto(int fd, const void* buffer, size_t count, int flags, const sockaddr* address,
               socklen_t length) {
  return SendTo(fd, address, length,
                [=] { return g_real.sendto(fd, buffer, count, flags, address, length); });
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  const msghdr given = coz::interpose::HeaderAt(fd, message);
  return SendTo(fd, given.msg_name, given.msg_namelen,
                [=] { return g_real.sendmsg(fd, message, flags); });
}

// Only the first of several destinations finds the sender's local delay.
int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  const msghdr first = coz::interpose::FirstHeaderAt(fd, messages, count);
  return SendTo(fd, first.msg_name, first.msg_namelen,
                [=] { return g_real.sendmmsg(fd, messages, count, flags); });
}

}  // extern "C"
