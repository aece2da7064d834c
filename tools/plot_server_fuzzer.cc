// Heads of requests to `coz plot --serve`, which any process of the machine can send.
//
// ./bazelw build --config=fuzz //tools:plot_server_fuzzer && bazel-bin/tools/plot_server_fuzzer
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tools/plot_server.h"

namespace {

constexpr absl::string_view kPage = "<!doctype html><title>secret</title>";

const coz::PlotServer& Server() {
  static const auto& server =
      *new absl::StatusOr<coz::PlotServer>(coz::PlotServer::Listen(0, std::string(kPage)));
  if (!server.ok()) std::abort();
  return *server;
}

}  // namespace

// "@" stands for the server's port, which differs from run to run.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string port = absl::StrCat(Server().port());
  std::string head;
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == '@') {
      head += port;
    } else {
      head += static_cast<char>(data[i]);
    }
  }
  const std::string answer = Server().Answer(head);
  if (!absl::StartsWith(answer, "HTTP/1.1 ")) std::abort();
  // Only one that names this address gets the page.
  const bool named = absl::StrContains(head, ":" + port);
  if (absl::StrContains(answer, kPage) && !(named && absl::StartsWith(head, "GET "))) std::abort();
  return 0;
}
