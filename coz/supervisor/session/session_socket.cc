#include "coz/supervisor/session/session_socket.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/supervisor/session/session_address.h"

namespace coz::supervisor {
namespace {

// At a time. More than two are not to be expected.
constexpr size_t kMostClients = 32;

void Send(int fd, const std::string& message) {
  send(fd, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

absl::StatusOr<SessionSocket> SessionSocket::Open(const std::vector<pid_t>& processes) {
  SessionSocket opened;
  opened.epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  for (const pid_t process : processes) {
    UniqueFd listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const SessionAddress address(process);
    if (!listener.ok() || bind(listener.get(), address.get(), address.bytes()) != 0 ||
        listen(listener.get(), static_cast<int>(kMostClients)) != 0) {
      return absl::ErrnoToStatus(
          errno, absl::StrCat("cannot listen at the socket @", kSessionSocketPrefix, process));
    }
    const uint64_t number = ++opened.next_;
    if (!opened.Watch(listener.get(), number)) return absl::ErrnoToStatus(errno, "epoll_ctl");
    opened.listeners_[number] = std::move(listener);
  }
  return opened;
}

bool SessionSocket::Watch(int fd, uint64_t number) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = number;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void SessionSocket::Refuse(UniqueFd client, const std::string& why) {
  Send(client.get(), absl::StrCat("error\n", why));
}

void SessionSocket::Accept(int listener) {
  UniqueFd client(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client.ok()) return;
  ucred peer = {};
  socklen_t bytes = sizeof(peer);
  if (getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return;
  if (peer.uid != 0 && peer.uid != geteuid()) {
    return Refuse(std::move(client),
                  absl::StrFormat("the session belongs to user %d; ask as that user", geteuid()));
  }
  if (clients_.size() >= kMostClients) {
    return Refuse(std::move(client), "the session has too much to answer; ask again");
  }
  const uint64_t number = ++next_;
  if (Watch(client.get(), number)) clients_[number] = std::move(client);
}

std::vector<SessionRequest> SessionSocket::Take() {
  std::vector<SessionRequest> requests;
  epoll_event events[kMostClients];
  const int ready = epoll_wait(epoll_.get(), events, kMostClients, 0);
  for (int i = 0; i < ready; ++i) {
    const uint64_t number = events[i].data.u64;
    if (const auto listener = listeners_.find(number); listener != listeners_.end()) {
      Accept(listener->second.get());
      continue;
    }
    const auto client = clients_.find(number);
    if (client == clients_.end()) continue;
    std::string message(kMaxSessionMessage, '\0');
    const ssize_t got = recv(client->second.get(), message.data(), message.size(), MSG_DONTWAIT);
    if (got <= 0) {
      clients_.erase(client);  // it has gone, with or without an answer
      continue;
    }
    message.resize(static_cast<size_t>(got));
    const size_t space = message.find(' ');
    const bool has_text = space != std::string::npos;
    requests.push_back(
        {number, message.substr(0, space), has_text ? message.substr(space + 1) : ""});
  }
  return requests;
}

void SessionSocket::Answer(uint64_t client, const absl::StatusOr<std::string>& answer) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  Send(found->second.get(), answer.ok() ? absl::StrCat("ok\n", *answer)
                                        : absl::StrCat("error\n", answer.status().message()));
  clients_.erase(found);
}

}  // namespace coz::supervisor
