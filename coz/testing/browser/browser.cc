#include "coz/testing/browser/browser.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "coz/base/unique_fd.h"
#include "gtest/gtest.h"

extern char** environ;

namespace coz::testing {
namespace {

using nlohmann::json;

constexpr char kDriver[] = "/usr/bin/chromedriver";
constexpr int kPatienceS = 20;

// One request on one connection; the body of the answer.
std::string Exchange(uint16_t port, const std::string& request) {
  const UniqueFd connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    return "";
  }
  std::string answer;
  char buffer[65536];
  size_t expected = std::string::npos;
  while (answer.size() < expected) {
    const ssize_t n = recv(connection.get(), buffer, sizeof(buffer), 0);
    if (n <= 0) break;
    answer.append(buffer, static_cast<size_t>(n));
    const size_t head = answer.find("\r\n\r\n");
    if (head == std::string::npos || expected != std::string::npos) continue;
    const size_t length = answer.find("Content-Length:");
    if (length < head) expected = head + 4 + strtoul(answer.c_str() + length + 15, nullptr, 10);
  }
  const size_t head = answer.find("\r\n\r\n");
  return head == std::string::npos ? "" : answer.substr(head + 4);
}

// "… was started successfully on port 12345."
uint16_t ReadPort(int output) {
  FILE* lines = fdopen(dup(output), "r");
  char line[512];
  uint16_t port = 0;
  while (port == 0 && fgets(line, sizeof(line), lines) != nullptr) {
    const char* found = strstr(line, "successfully on port ");
    if (found != nullptr) port = static_cast<uint16_t>(atoi(found + 21));
  }
  fclose(lines);
  return port;
}

}  // namespace

std::unique_ptr<Browser> OpenBrowser(const std::vector<std::string>& arguments) {
  if (access(kDriver, X_OK) != 0) {
    fprintf(stderr, "%s is missing; run: ./bazelw test --config=browser //tools/...\n", kDriver);
    return nullptr;
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  char port[] = "--port=0";
  char program[] = "chromedriver";
  char* const command[] = {program, port, nullptr};
  std::unique_ptr<Browser> browser(new Browser);
  posix_spawn(&browser->driver_, kDriver, &actions, nullptr, command, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  browser->driver_output_ = ends[0];
  browser->port_ = ReadPort(ends[0]);
  json all = {"--headless=new",
              "--no-sandbox",
              "--disable-gpu",
              "--disable-dev-shm-usage",
              "--no-first-run",
              "--hide-scrollbars",
              absl::StrCat("--user-data-dir=", ::testing::TempDir(), "/chromium")};
  for (const std::string& argument : arguments) all.push_back(argument);
  const json wanted = {{"browserName", "chrome"},
                       {"goog:chromeOptions", {{"args", all}}},
                       {"goog:loggingPrefs", {{"browser", "ALL"}}}};
  const json started =
      browser->Call("POST", "/session", {{"capabilities", {{"alwaysMatch", wanted}}}});
  if (!started.is_object() || !started.contains("sessionId")) return nullptr;
  browser->session_ = absl::StrCat("/session/", started["sessionId"].get<std::string>());
  return browser;
}

Browser::~Browser() {
  if (!session_.empty()) Call("DELETE", session_, {});
  if (driver_ > 0) {
    kill(driver_, SIGTERM);
    waitpid(driver_, nullptr, 0);
  }
  if (driver_output_ >= 0) close(driver_output_);
}

json Browser::Call(const std::string& method, const std::string& path, const json& body) {
  const std::string text = body.is_null() ? "" : body.dump();
  const json answer = json::parse(
      Exchange(port_, absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: localhost:", port_,
                                   "\r\nContent-Type: application/json",
                                   "\r\nContent-Length: ", text.size(), "\r\n\r\n", text)),
      nullptr, false);
  if (!answer.is_object() || !answer.contains("value")) {
    ADD_FAILURE() << "no answer from the browser to " << path;
    return nullptr;
  }
  const json& value = answer["value"];
  if (value.is_object() && value.contains("error")) {
    ADD_FAILURE() << path << ": " << value.dump().substr(0, 1000);
    return nullptr;
  }
  return value;
}

void Browser::Open(const std::string& address) {
  Call("POST", absl::StrCat(session_, "/url"), {{"url", address}});
}

void Browser::Resize(int width, int height) {
  Call("POST", absl::StrCat(session_, "/window/rect"), {{"width", width}, {"height", height}});
}

void Browser::ShowOn(int width, int height, bool is_dark) {
  const std::string command = absl::StrCat(session_, "/goog/cdp/execute");
  const json screen = {
      {"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", false}};
  Call("POST", command, {{"cmd", "Emulation.setDeviceMetricsOverride"}, {"params", screen}});
  const json scheme = {{"name", "prefers-color-scheme"}, {"value", is_dark ? "dark" : "light"}};
  Call("POST", command,
       {{"cmd", "Emulation.setEmulatedMedia"}, {"params", {{"features", {scheme}}}}});
}

bool Browser::Photograph(const std::string& path) {
  Run("window.framesDrawn = 0; document.fonts.ready.then(() => requestAnimationFrame(() => "
      "requestAnimationFrame(() => { window.framesDrawn = 2; })));");
  if (!WaitFor("window.framesDrawn === 2")) return false;
  const json picture = Call("GET", absl::StrCat(session_, "/screenshot"), nullptr);
  std::string bytes;
  if (!picture.is_string() || !absl::Base64Unescape(picture.get<std::string>(), &bytes))
    return false;
  return (std::ofstream(path, std::ios::binary) << bytes).flush().good();
}

json Browser::Run(const std::string& script) {
  return Call("POST", absl::StrCat(session_, "/execute/sync"),
              {{"script", script}, {"args", json::array()}});
}

bool Browser::WaitFor(const std::string& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceS);
  while (std::chrono::steady_clock::now() < end) {
    const json value = Run(absl::StrCat("return Boolean(", condition, ");"));
    if (value.is_boolean() && value.get<bool>()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

void Browser::Press(const std::string& keys) {
  json steps = json::array();
  for (size_t i = 0; i < keys.size();) {
    size_t n = 1;
    while (i + n < keys.size() && (static_cast<uint8_t>(keys[i + n]) & 0xc0) == 0x80) ++n;
    steps.push_back({{"type", "keyDown"}, {"value", keys.substr(i, n)}});
    steps.push_back({{"type", "keyUp"}, {"value", keys.substr(i, n)}});
    i += n;
  }
  Call("POST", absl::StrCat(session_, "/actions"),
       {{"actions", {{{"type", "key"}, {"id", "keys"}, {"actions", steps}}}}});
}

std::vector<std::string> Browser::Complaints() {
  std::vector<std::string> complaints;
  for (const json& entry : Call("POST", absl::StrCat(session_, "/se/log"), {{"type", "browser"}})) {
    const std::string level = entry.value("level", "");
    if (level == "SEVERE" || level == "WARNING") complaints.push_back(entry.value("message", ""));
  }
  return complaints;
}

}  // namespace coz::testing
