// Shows one page to the browsers of this machine, and nothing else to anyone.
//
// Shape    listens on 127.0.0.1; answers GET and HEAD of / with the page, everything else with an
//          error; one request a connection; a request whose Host is not this address is refused, so
//          that no web site can read the report through its own name
// Units    bytes, seconds
// Errors   UNAVAILABLE: the port is taken or forbidden
// Threads  owner: one thread
// Signals  Run blocks SIGINT and SIGTERM, and ends with OK on either
// Source   RFC 9112
#ifndef COZ_TOOLS_PLOT_SERVER_H_
#define COZ_TOOLS_PLOT_SERVER_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/base/unique_fd.h"

namespace coz {

class PlotServer {
 public:
  // Port 0: any that is free.
  static absl::StatusOr<PlotServer> Listen(uint16_t port, std::string page);

  uint16_t port() const { return port_; }

  // Serves until Ctrl-C.
  absl::Status Run();

  // The whole answer to a request head; for tests too.
  std::string Answer(const std::string& request_head) const;

 private:
  PlotServer(UniqueFd listener, uint16_t port, std::string page)
      : listener_(std::move(listener)), port_(port), page_(std::move(page)) {}

  struct Connection {
    UniqueFd fd;
    std::string request;
  };

  void Accept(std::deque<Connection>* connections) const;
  // Reads what has come, and answers if that is a whole request; false: the connection is done
  // with.
  bool Serve(Connection* connection) const;

  UniqueFd listener_;
  uint16_t port_;
  std::string page_;
};

// Starts the desktop's browser and does not wait for it; says so on standard error where there is
// none.
void OpenInBrowser(const std::string& address);

}  // namespace coz

#endif  // COZ_TOOLS_PLOT_SERVER_H_
