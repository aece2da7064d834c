#include "tools/plot_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "coz/base/write_signals.h"

extern char** environ;

namespace coz {
namespace {

constexpr size_t kMaxRequestBytes = 16 << 10;
constexpr size_t kMaxConnections = 32;
constexpr time_t kPatienceS = 5;

std::string Response(absl::string_view status, absl::string_view type, absl::string_view body,
                     bool with_body) {
  std::string response = absl::StrCat(
      "HTTP/1.1 ", status, "\r\nContent-Type: ", type,
      "; charset=utf-8\r\nContent-Length: ", body.size(),
      "\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      "X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n",
      absl::StartsWith(status, "405") ? "Allow: GET, HEAD\r\n" : "", "\r\n");
  if (with_body) absl::StrAppend(&response, body);
  return response;
}

std::string Refusal(absl::string_view status) {
  return Response(status, "text/plain", absl::StrCat(status, "\n"), true);
}

// The value of a header, or "".
absl::string_view Header(absl::string_view head, absl::string_view name) {
  while (!head.empty()) {
    const size_t end = head.find("\r\n");
    const absl::string_view line = head.substr(0, end);
    const size_t colon = line.find(':');
    if (colon != absl::string_view::npos && absl::EqualsIgnoreCase(line.substr(0, colon), name)) {
      return absl::StripAsciiWhitespace(line.substr(colon + 1));
    }
    if (end == absl::string_view::npos) break;
    head.remove_prefix(end + 2);
  }
  return "";
}

absl::Status CannotListen(uint16_t port) {
  const int error = errno;
  const char* next = error == EADDRINUSE
                         ? "another program has it; take a free one with: coz plot --serve"
                         : "take a free one with: coz plot --serve";
  return absl::UnavailableError(
      absl::StrFormat("cannot listen on port %d: %s; %s", port, strerror(error), next));
}

// A descriptor that becomes readable on Ctrl-C.
UniqueFd EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC));
}

void WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t n = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

absl::StatusOr<PlotServer> PlotServer::Listen(uint16_t port, std::string page) {
  UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.ok()) return CannotListen(port);
  const int yes = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.get(), generic, length) != 0 || listen(listener.get(), 16) != 0 ||
      getsockname(listener.get(), generic, &length) != 0) {
    return CannotListen(port);
  }
  return PlotServer(std::move(listener), ntohs(address.sin_port), std::move(page));
}

std::string PlotServer::Answer(const std::string& request_head) const {
  const absl::string_view head = request_head;
  const absl::string_view line = head.substr(0, head.find("\r\n"));
  const size_t first = line.find(' ');
  const size_t second = line.find(' ', first == absl::string_view::npos ? first : first + 1);
  if (second == absl::string_view::npos || !absl::StartsWith(line.substr(second + 1), "HTTP/1.")) {
    return Refusal("400 Bad Request");
  }
  const absl::string_view host = Header(head.substr(line.size()), "host");
  if (host != absl::StrCat("127.0.0.1:", port_) && host != absl::StrCat("localhost:", port_)) {
    return Refusal("403 Forbidden");
  }
  const absl::string_view method = line.substr(0, first);
  if (method != "GET" && method != "HEAD") return Refusal("405 Method Not Allowed");
  const absl::string_view path = line.substr(first + 1, second - first - 1);
  if (path.substr(0, path.find('?')) != "/") return Refusal("404 Not Found");
  return Response("200 OK", "text/html", page_, method == "GET");
}

bool PlotServer::Serve(Connection* connection) const {
  char buffer[4096];
  const ssize_t n = recv(connection->fd.get(), buffer, sizeof(buffer), 0);
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) return false;
  connection->request.append(buffer, static_cast<size_t>(n));
  if (connection->request.find("\r\n\r\n") == std::string::npos) {
    return connection->request.size() < kMaxRequestBytes;
  }
  WriteAll(connection->fd.get(), Answer(connection->request));
  shutdown(connection->fd.get(), SHUT_WR);
  return false;
}

void PlotServer::Accept(std::deque<Connection>* connections) const {
  UniqueFd accepted(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!accepted.ok()) return;
  // A slow reader holds others up for at most this long.
  const timeval patience = {kPatienceS, 0};
  setsockopt(accepted.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  // Browsers open connections that they may never use: the oldest makes room.
  if (connections->size() == kMaxConnections) connections->pop_front();
  connections->push_back({std::move(accepted), ""});
}

absl::Status PlotServer::Run() {
  const UniqueFd end = EndSignals();
  std::deque<Connection> connections;
  while (true) {
    std::vector<pollfd> waits = {{listener_.get(), POLLIN, 0}, {end.get(), POLLIN, 0}};
    for (const Connection& c : connections) waits.push_back({c.fd.get(), POLLIN, 0});
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("cannot wait for browsers: ", strerror(errno)));
    }
    if (waits[1].revents != 0) return absl::OkStatus();
    for (size_t i = waits.size(); i-- > 2;) {
      if (waits[i].revents == 0 || Serve(&connections[i - 2])) continue;
      connections.erase(connections.begin() + static_cast<ptrdiff_t>(i - 2));
    }
    if (waits[0].revents != 0) Accept(&connections);
  }
}

void OpenInBrowser(const std::string& address) {
  std::string program = "xdg-open";
  std::string argument = address;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  // For the browser. The report is written by now.
  RestoreWriteSignals();
  if (posix_spawnp(&child, "xdg-open", nullptr, nullptr, arguments, environ) != 0) {
    absl::FPrintF(stderr, "coz: there is no xdg-open to open the report with; open %s yourself\n",
                  address);
  }
}

}  // namespace coz
