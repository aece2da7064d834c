// Where other commands of the same user find a session that runs, and ask it.
//
// A session listens at a UNIX socket in the abstract namespace, so that nothing is left when it
// ends, however it ends. The socket is named after a process, "coz-session-PID": once after coz
// itself, once after the program that it started or joined. One connection is one request: a
// message, and one message back.
//
// Shape    request: a word and the rest of the text ("add main.cc:12"). Answer: "ok" or "error", a
//          newline, and the text
// Units    bytes; process numbers
// Errors   Open: what the system said; a session goes on without. A client of another user is told
//          so
// Threads  compatible
// Signals  none
// Source   unix(7)
#ifndef COZ_SUPERVISOR_SESSION_SESSION_SOCKET_H_
#define COZ_SUPERVISOR_SESSION_SESSION_SOCKET_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/base/unique_fd.h"

namespace coz::supervisor {

inline constexpr char kSessionSocketPrefix[] = "coz-session-";
inline constexpr size_t kMaxSessionMessage = 1 << 17;

struct SessionRequest {
  uint64_t client;
  std::string verb;
  std::string text;
};

class SessionSocket {
 public:
  static absl::StatusOr<SessionSocket> Open(const std::vector<pid_t>& processes);

  // Readable when Take has something to do.
  int fd() const { return epoll_.get(); }
  // Requests that have come since. Does not wait.
  std::vector<SessionRequest> Take();
  // Ends the connection. A client that is gone is nobody's fault.
  void Answer(uint64_t client, const absl::StatusOr<std::string>& answer);

 private:
  SessionSocket() = default;
  void Accept(int listener);
  void Refuse(UniqueFd client, const std::string& why);
  bool Watch(int fd, uint64_t number);

  UniqueFd epoll_;
  std::map<uint64_t, UniqueFd> listeners_;
  std::map<uint64_t, UniqueFd> clients_;
  uint64_t next_ = 0;
};

}  // namespace coz::supervisor

#endif  // COZ_SUPERVISOR_SESSION_SESSION_SOCKET_H_
