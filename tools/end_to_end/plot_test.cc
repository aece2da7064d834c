// coz plot without a browser: files, bad input, and what the server answers to whom.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/base/unique_fd.h"
#include "coz/report/plot/testing/sample_profile.h"
#include "coz/testing/one_sentence.h"
#include "coz/testing/run_command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/plot_server.h"

namespace coz {
namespace {

using ::coz::testing::CommandOptions;
using ::coz::testing::CommandResult;
using ::coz::testing::ExpectOneSentence;
using ::coz::testing::kUsageStatus;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PlotTest : public ::testing::Test {
 protected:
  PlotTest() : folder_(testing::TemporaryFolder()) {
    options_.folder = folder_;
    std::ofstream(Path("profile.pb"), std::ios::binary)
        << report_testing::SampleProfile(3).SerializeAsString();
  }

  std::string Path(const std::string& name) const { return absl::StrCat(folder_, "/", name); }
  CommandResult Plot(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {testing::RunfilePath("tools/coz"), "plot"});
    return testing::RunCommand(arguments, options_);
  }
  std::string Contents(const std::string& name) const {
    std::ifstream file(Path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string folder_;
  CommandOptions options_;
};

TEST_F(PlotTest, RefusesOptionsThatHaveNoUseTogether) {
  ExpectOneSentence(Plot({"--serve", "-o", "y.html"}), "leave one of them out", kUsageStatus);
  ExpectOneSentence(Plot({"--open", "-o", "-"}), "coz plot --serve --open", kUsageStatus);
}

TEST_F(PlotTest, WritesOneFileWithoutNetworkAddresses) {
  const CommandResult result = Plot({});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.errors, "The report is in report.html.\n");
  const std::string page = Contents("report.html");
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  for (const char* loading : {"src=\"http", "href=\"http", "url(", "@import", "unsafe-inline"}) {
    EXPECT_THAT(page, Not(HasSubstr(loading)));
  }
  EXPECT_THAT(page, HasSubstr("node-d3-scale"));
  EXPECT_THAT(page, HasSubstr("Redistributions in binary form must reproduce"));
}

TEST_F(PlotTest, SameProfileGivesTheSameBytes) {
  Plot({"-o", "a.html"});
  Plot({"-o", "b.html"});
  EXPECT_EQ(Contents("a.html"), Contents("b.html"));
}

TEST_F(PlotTest, WritesToStandardOutput) {
  const CommandResult result = Plot({"profile.pb", "-o", "-"});
  EXPECT_THAT(result.output, StartsWith("<!DOCTYPE html>"));
  EXPECT_EQ(result.errors, "");
}

TEST_F(PlotTest, BadInputIsOneSentence) {
  ExpectOneSentence(Plot({"missing.pb"}), "missing.pb");
  std::ofstream(Path("text.pb")) << "this is no profile, by any means\n";
  ExpectOneSentence(Plot({"text.pb"}), "text.pb");
  const std::ofstream empty(Path("empty.pb"));
  ExpectOneSentence(Plot({"empty.pb"}), "empty.pb");
  ExpectOneSentence(Plot({"-o", "no/such/folder/report.html"}),
                    "cannot write no/such/folder/report.html: No such file or directory");
  ExpectOneSentence(Plot({"-o", "/dev/full"}), "cannot write /dev/full: No space left");
  ExpectOneSentence(Plot({"--serve=eighty"}), "--serve=eighty is not a port", kUsageStatus);
  ExpectOneSentence(Plot({"--serve", "missing.pb"}), "--serve=missing.pb is not a port",
                    kUsageStatus);
  ExpectOneSentence(Plot({"--serve=70000"}), "not a port from 0 to 65535", kUsageStatus);
}

TEST_F(PlotTest, FailedReadLeavesTheOldReport) {
  std::ofstream(Path("kept.html")) << "old";
  ExpectOneSentence(Plot({"missing.pb", "-o", "kept.html"}), "missing.pb");
  EXPECT_EQ(Contents("kept.html"), "old");
}

TEST_F(PlotTest, DamagedEndIsNotedAndTheRestShown) {
  const std::string whole = Contents("profile.pb");
  std::ofstream(Path("cut.pb"), std::ios::binary) << whole.substr(0, whole.size() - 1);
  EXPECT_EQ(Plot({"cut.pb"}).status, 0);
  EXPECT_THAT(Contents("report.html"), HasSubstr("the file ends within a record"));
}

// Sends bytes to 127.0.0.1 and returns the whole answer.
std::string Ask(uint16_t port, const std::string& request) {
  const UniqueFd connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return "refused";
  }
  send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char buffer[4096];
  for (ssize_t n; (n = recv(connection.get(), buffer, sizeof(buffer), 0)) > 0;) {
    answer.append(buffer, static_cast<size_t>(n));
  }
  return answer;
}

// A port that nobody listens on, while it is held.
class HeldPort {
 public:
  HeldPort() : server_(PlotServer::Listen(0, "held")) {}
  uint16_t port() const { return server_->port(); }

 private:
  absl::StatusOr<PlotServer> server_;
};

TEST_F(PlotTest, BusyPortIsOneSentence) {
  const HeldPort held;
  ExpectOneSentence(Plot({absl::StrCat("--serve=", held.port())}), "another program has it");
}

TEST_F(PlotTest, ServesTheReportUntilCtrlC) {
  uint16_t port = 0;
  { port = HeldPort().port(); }
  std::string answer;
  options_.while_running = [&](pid_t command) {
    // A connection without a request, as browsers make them, holds nobody up.
    const UniqueFd idle(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    for (int i = 0; i < 1000; ++i) {
      answer = Ask(port, absl::StrCat("GET / HTTP/1.1\r\nHost: 127.0.0.1:", port, "\r\n\r\n"));
      if (answer != "refused") break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    kill(command, SIGINT);
  };
  const CommandResult result = Plot({absl::StrCat("--serve=", port)});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, absl::StrCat("The report is at http://127.0.0.1:", port,
                                        "/ (this machine only). Ctrl-C ends it.\n"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("<!DOCTYPE html>"));
  EXPECT_NE(access(Path("report.html").c_str(), F_OK), 0) << "a file was written besides";
}

TEST_F(PlotTest, ServeTakesTheProfileAfterIt) {
  options_.while_running = [](pid_t command) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(command, SIGTERM);
  };
  ASSERT_EQ(rename(Path("profile.pb").c_str(), Path("other.pb").c_str()), 0);
  const CommandResult result = Plot({"--serve", "other.pb"});
  EXPECT_THAT(result.errors, Not(HasSubstr("coz: ")));
}

TEST(PlotServerTest, ServesNothingButTheReport) {
  const absl::StatusOr<PlotServer> server = PlotServer::Listen(0, "the page");
  ASSERT_TRUE(server.ok());
  const std::string host = absl::StrCat("\r\nHost: localhost:", server->port(), "\r\n\r\n");
  const auto status = [&](const std::string& request) {
    return server->Answer(request).substr(9, 3);
  };
  EXPECT_THAT(server->Answer("GET / HTTP/1.1" + host), ::testing::EndsWith("\r\n\r\nthe page"));
  EXPECT_EQ(status("GET /?x HTTP/1.1" + host), "200");
  EXPECT_THAT(server->Answer("HEAD / HTTP/1.1" + host), Not(HasSubstr("the page")));
  EXPECT_EQ(status("GET /etc/passwd HTTP/1.1" + host), "404");
  EXPECT_EQ(status("GET /../x HTTP/1.1" + host), "404");
  EXPECT_EQ(status("POST / HTTP/1.1" + host), "405");
  EXPECT_EQ(status("nonsense\r\n\r\n"), "400");
  EXPECT_EQ(status("GET / HTTP/1.1\r\n\r\n"), "403");
}

TEST(PlotServerTest, RefusesOtherNamesForThisMachine) {
  const absl::StatusOr<PlotServer> server = PlotServer::Listen(0, "the page");
  ASSERT_TRUE(server.ok());
  const std::string answer = server->Answer(
      absl::StrCat("GET / HTTP/1.1\r\nHost: evil.example:", server->port(), "\r\n\r\n"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(answer, Not(HasSubstr("the page")));
}

}  // namespace
}  // namespace coz
