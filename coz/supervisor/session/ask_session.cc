#include "coz/supervisor/session/ask_session.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/unique_fd.h"
#include "coz/supervisor/session/session_address.h"
#include "coz/supervisor/session/session_socket.h"

namespace coz::supervisor {
namespace {

// A place is sought in debug information, and sleeping processes are waited for.
constexpr time_t kLongestAnswerS = 120;

// 0 where the process is gone, or has none.
pid_t ParentOf(pid_t process) {
  std::ifstream status(absl::StrCat("/proc/", process, "/status"));
  std::string line;
  while (std::getline(status, line)) {
    int parent = 0;
    if (absl::StartsWith(line, "PPid:") && absl::SimpleAtoi(line.substr(5), &parent)) return parent;
  }
  return 0;
}

UniqueFd Connect(pid_t process) {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const SessionAddress address(process);
  if (fd.ok() && connect(fd.get(), address.get(), address.bytes()) != 0) fd.Reset(-1);
  return fd;
}

absl::Status NoSession(pid_t process) {
  std::vector<pid_t> running = RunningSessions();
  return absl::NotFoundError(absl::StrFormat(
      "process %d belongs to no session of coz%s", process,
      running.empty() ? "; start one with `coz run --- PROGRAM` or `coz attach PID`"
                      : absl::StrCat("; those that run now are: ", absl::StrJoin(running, ", "))));
}

absl::StatusOr<std::string> Receive(const UniqueFd& fd, pid_t process) {
  std::string answer(kMaxSessionMessage, '\0');
  const ssize_t got = recv(fd.get(), answer.data(), answer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return absl::UnavailableError(absl::StrFormat(
        "session %d has not answered for %d s; ask again, or see whether it is stopped: ps %d",
        process, kLongestAnswerS, process));
  }
  if (got <= 0) {
    return absl::UnavailableError(absl::StrFormat(
        "session %d has ended before it answered; see its profile with: coz report", process));
  }
  answer.resize(static_cast<size_t>(got));
  return answer;
}

}  // namespace

std::vector<pid_t> RunningSessions() {
  std::ifstream sockets("/proc/net/unix");
  std::set<pid_t> found;
  const std::string mark = absl::StrCat("@", SessionNamePrefix());
  std::string line;
  while (std::getline(sockets, line)) {
    const size_t at = line.find(mark);
    int process = 0;
    if (at != std::string::npos && absl::SimpleAtoi(line.substr(at + mark.size()), &process)) {
      found.insert(process);
    }
  }
  return {found.begin(), found.end()};
}

absl::StatusOr<std::string> AskSession(pid_t process, const std::string& request) {
  UniqueFd fd(-1);
  for (pid_t at = process; at > 0 && !fd.ok(); at = ParentOf(at)) fd = Connect(at);
  if (!fd.ok()) return NoSession(process);
  ucred peer = {};
  socklen_t bytes = sizeof(peer);
  const bool is_known = getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0;
  if (!is_known || (peer.uid != geteuid() && geteuid() != 0)) {
    return absl::PermissionDeniedError(
        absl::StrFormat("session %d belongs to user %d; ask as that user", process, peer.uid));
  }
  const timeval longest = {kLongestAnswerS, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
  // Where the session has gone, the answer says so.
  send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL);
  const absl::StatusOr<std::string> answer = Receive(fd, process);
  if (!answer.ok()) return answer.status();
  const size_t end = answer->find('\n');
  const std::string text = end == std::string::npos ? "" : answer->substr(end + 1);
  if (absl::StartsWith(*answer, "ok\n")) return text;
  return absl::FailedPreconditionError(text);
}

}  // namespace coz::supervisor
