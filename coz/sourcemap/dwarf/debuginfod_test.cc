// Debug information that only a debuginfod server has: asked where the user says so, once, and
// never for long.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "coz/base/unique_fd.h"
#include "coz/sourcemap/dwarf/debug_file.h"
#include "coz/sourcemap/testing/fixture_files.h"
#include "gtest/gtest.h"

namespace coz::sourcemap {
namespace {

// Answers each request for .../debuginfo with one file, or that there is none, or never.
class Server {
 public:
  enum class Answer { kFile, kNotFound, kNone };
  explicit Server(std::string body, Answer answer = Answer::kFile)
      : body_(std::move(body)), answer_(answer), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    socklen_t size = sizeof(address);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~Server() {
    stop_ = true;
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int requests() const { return requests_; }
  std::string first_request() const { return first_request_; }

 private:
  void Serve() {
    while (!stop_) {
      const UniqueFd connection(accept(listener_.get(), nullptr, nullptr));
      if (!connection.ok()) return;
      char request[4096] = "";
      const ssize_t length = read(connection.get(), request, sizeof(request) - 1);
      if (length <= 0) continue;
      if (++requests_ == 1) first_request_ = std::string(request, static_cast<size_t>(length));
      if (answer_ == Answer::kNone) {
        // Until the client gives up.
        while (!stop_ && read(connection.get(), request, sizeof(request)) > 0) continue;
        continue;
      }
      std::string response =
          answer_ == Answer::kFile ? "HTTP/1.1 200 OK" : "HTTP/1.1 404 Not Found";
      response += "\r\nContent-Type: application/octet-stream\r\n";
      response += "Content-Length: " + std::to_string(body_.size());
      response += "\r\nConnection: close\r\n\r\n" + body_;
      for (size_t sent = 0; sent < response.size();) {
        const ssize_t part =
            send(connection.get(), response.data() + sent, response.size() - sent, MSG_NOSIGNAL);
        if (part <= 0) break;
        sent += static_cast<size_t>(part);
      }
    }
  }

  const std::string body_;
  const Answer answer_;
  UniqueFd listener_;
  uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<int> requests_{0};
  std::string first_request_;
  std::thread thread_;
};

class DebuginfodTest : public ::testing::Test {
 protected:
  DebuginfodTest() {
    setenv("DEBUGINFOD_CACHE_PATH", NewTestFolder().c_str(), 1);
    setenv("no_proxy", "*", 1);
    unsetenv("DEBUGINFOD_URLS");
  }

  // The binary's debug file lies in a folder that nobody searches here.
  static std::string Binary() { return FixturePath("build_id"); }
  static std::string DebugFileBytes() {
    return ReadFileBytes(
        AbsolutePath("coz/sourcemap/testdata/build_id/debug/.build-id/01/23456789abcdef.debug"));
  }
};

TEST_F(DebuginfodTest, AsksOnceAndKeepsWhatItGot) {
  {
    Server server(DebugFileBytes());
    setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
    const auto file = DebugFile::Open(Binary(), "");
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ((*file)->debug_path(), "debuginfod");
    EXPECT_EQ(server.requests(), 1);
    EXPECT_NE(server.first_request().find("GET /buildid/0123456789abcdef/debuginfo"),
              std::string::npos)
        << server.first_request();
    EXPECT_TRUE(DebugFile::Open(Binary(), "").ok());
    EXPECT_EQ(server.requests(), 1);
  }
  // The server is gone.
  EXPECT_TRUE(DebugFile::Open(Binary(), "").ok());
}

TEST_F(DebuginfodTest, IsNotAskedUnlessTheUserSaysSo) {
  Server server(DebugFileBytes());
  const auto file = DebugFile::Open(Binary(), "");
  EXPECT_EQ(file.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(file.status().message().find("set DEBUGINFOD_URLS"), std::string::npos)
      << file.status();
  EXPECT_EQ(server.requests(), 0);
}

TEST_F(DebuginfodTest, IsNotAskedWhereNoDebugInformationIsNeeded) {
  Server server(DebugFileBytes());
  setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
  EXPECT_TRUE(DebugFile::Open(Binary(), "", /*must_have_debug_info=*/false).ok());
  EXPECT_EQ(server.requests(), 0);
}

TEST_F(DebuginfodTest, SaysWhetherServersHaveNoneOrCannotBeAsked) {
  auto server = std::make_unique<Server>("", Server::Answer::kNotFound);
  const std::string url = server->url();
  setenv("DEBUGINFOD_URLS", url.c_str(), 1);
  auto file = DebugFile::Open(Binary(), "");
  EXPECT_NE(file.status().message().find(url + " has no debug information for it"),
            std::string::npos)
      << file.status();
  EXPECT_EQ(server->requests(), 1);

  server.reset();
  setenv("DEBUGINFOD_CACHE_PATH", NewTestFolder().c_str(), 1);
  file = DebugFile::Open(Binary(), "");
  EXPECT_NE(file.status().message().find("try again when " + url +
                                         " answers: to ask there failed (Connection refused)"),
            std::string::npos)
      << file.status();
}

// Without a limit the test would run into its own.
TEST_F(DebuginfodTest, GivesUpOnAServerThatDoesNotAnswer) {
  Server server("", Server::Answer::kNone);
  setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
  setenv("DEBUGINFOD_TIMEOUT", "1", 1);
  const auto file = DebugFile::Open(Binary(), "");
  EXPECT_NE(file.status().message().find("try again when " + server.url() + " answers"),
            std::string::npos)
      << file.status();
  EXPECT_STREQ(getenv("DEBUGINFOD_TIMEOUT"), "1");
  EXPECT_EQ(getenv("DEBUGINFOD_MAXTIME"), nullptr);
  unsetenv("DEBUGINFOD_TIMEOUT");
}

}  // namespace
}  // namespace coz::sourcemap
