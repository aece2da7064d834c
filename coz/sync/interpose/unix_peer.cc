// Wraps no calls itself. It asks the kernel for io_object.cc. Process: target. Context: the
// program's threads and signal handlers.
#include "coz/sync/interpose/unix_peer.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>

#include "coz/base/raw_syscall.h"

namespace coz::interpose {
namespace {

constexpr uint32_t kAnyCookie = ~uint32_t{0};
constexpr int kAtOnce = MSG_DONTWAIT;

struct Request {
  nlmsghdr header;
  unix_diag_req body;
};

Request PeerOfSocket(uint32_t inode) {
  Request request = {};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = AF_UNIX;
  request.body.udiag_states = ~uint32_t{0};
  request.body.udiag_ino = inode;
  request.body.udiag_show = UDIAG_SHOW_PEER;
  request.body.udiag_cookie[0] = request.body.udiag_cookie[1] = kAnyCookie;
  return request;
}

// The kernel answers in the call that asks.
long Ask(const Request& request, void* answer, size_t most) {
  const long fd = RawSyscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return fd;
  const void* const asked = &request;
  long bytes = RawSyscall(SYS_sendto, fd, asked, sizeof(request), kAtOnce, nullptr, 0);
  if (bytes > 0) bytes = RawSyscall(SYS_recvfrom, fd, answer, most, kAtOnce, nullptr, nullptr);
  RawSyscall(SYS_close, fd);
  return bytes;
}

// The attribute UNIX_DIAG_PEER of an answer of `bytes`; 0 where it has none; nothing where it is an
// error.
std::optional<uint64_t> PeerIn(const char* answer, size_t bytes) {
  nlmsghdr header;
  if (bytes < sizeof(header)) return std::nullopt;
  memcpy(&header, answer, sizeof(header));
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || header.nlmsg_len > bytes) return std::nullopt;
  size_t at = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(unix_diag_msg)));
  while (at + sizeof(rtattr) <= header.nlmsg_len) {
    rtattr attribute;
    memcpy(&attribute, answer + at, sizeof(attribute));
    if (attribute.rta_len < sizeof(attribute) || attribute.rta_len > header.nlmsg_len - at) break;
    uint32_t peer = 0;
    if (attribute.rta_type == UNIX_DIAG_PEER && attribute.rta_len >= RTA_LENGTH(sizeof(peer))) {
      memcpy(&peer, answer + at + RTA_LENGTH(0), sizeof(peer));
      return peer;
    }
    at += RTA_ALIGN(attribute.rta_len);
  }
  return 0;
}

}  // namespace

std::optional<uint64_t> UnixPeerOf(uint64_t inode) {
  if (inode == 0 || inode > UINT32_MAX) return std::nullopt;
  alignas(nlmsghdr) char answer[512];
  const long bytes = Ask(PeerOfSocket(static_cast<uint32_t>(inode)), answer, sizeof(answer));
  if (bytes == -EMFILE || bytes == -ENFILE) return 0;  // there may be descriptors later
  if (bytes <= 0) return std::nullopt;
  return PeerIn(answer, static_cast<size_t>(bytes));
}

}  // namespace coz::interpose
