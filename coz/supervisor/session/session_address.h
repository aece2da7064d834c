// The address of a session's socket.
//
// Shape    a value
// Units    a process number
// Errors   none
// Threads  a value
// Signals  none
// Source   unix(7), "Abstract sockets"
#ifndef COZ_SUPERVISOR_SESSION_SESSION_ADDRESS_H_
#define COZ_SUPERVISOR_SESSION_SESSION_ADDRESS_H_

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "coz/supervisor/session/session_socket.h"

namespace coz::supervisor {

class SessionAddress {
 public:
  explicit SessionAddress(pid_t process) {
    const std::string name = absl::StrCat(kSessionSocketPrefix, process);
    address_.sun_family = AF_UNIX;
    // A first byte of 0 makes it abstract; the name has no end mark.
    memcpy(&address_.sun_path[1], name.data(), name.size());
    bytes_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t bytes() const { return bytes_; }

 private:
  sockaddr_un address_ = {};
  socklen_t bytes_;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_SESSION_SESSION_ADDRESS_H_
