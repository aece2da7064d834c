// coz watch: the ranked lines of a profile that another process is writing.
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/base/clock.h"
#include "coz/base/terminal.h"
#include "coz/base/unique_fd.h"
#include "coz/report/text/live_table.h"
#include "coz/report/wording/text_layout.h"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"
#include "tools/seconds.h"

namespace coz {
namespace {

// Reading takes at most this share of the time.
constexpr uint64_t kShareOfReading = 10;

struct WatchArguments {
  std::string path = "profile.pb";
  double interval_s = 1;
  bool once = false;
};

class Watch {
 public:
  explicit Watch(const WatchArguments& arguments)
      : arguments_(arguments), is_terminal_(CanDrawOn(STDOUT_FILENO)) {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    sigprocmask(SIG_BLOCK, &wanted, nullptr);
    interrupt_.Reset(signalfd(-1, &wanted, SFD_CLOEXEC));
  }

  absl::Status Run() {
    for (;;) {
      const uint64_t start_ns = MonotonicNowNs();
      if (absl::Status status = Look(); !status.ok()) return status;
      if (has_ended_ || arguments_.once) return absl::OkStatus();
      const uint64_t took_ns = MonotonicNowNs() - start_ns;
      const uint64_t interval_ns = static_cast<uint64_t>(arguments_.interval_s * 1e9);
      if (WaitForInterrupt(std::max(interval_ns, took_ns * kShareOfReading))) {
        return absl::OkStatus();
      }
    }
  }

 private:
  // Shows the profile if it has changed since the last look.
  absl::Status Look() {
    struct stat file;
    if (stat(arguments_.path.c_str(), &file) != 0) {
      if (errno == ENOENT && !arguments_.once) return WaitingFor("it does not exist yet");
      // Reading says why, and what to do.
      file = {};
    }
    if (S_ISREG(file.st_mode) && file.st_size == 0 && !arguments_.once) {
      return WaitingFor("it is empty");
    }
    if (file.st_size == seen_bytes_ && file.st_ino == seen_inode_) return absl::OkStatus();
    const auto whole = report::ReadAndAnalyze(arguments_.path);
    if (!whole.ok()) return whole.status();
    seen_bytes_ = file.st_size;
    seen_inode_ = file.st_ino;
    has_ended_ = (*whole)->profile.session_end_size() >= (*whole)->profile.session_size();
    Show(**whole);
    return absl::OkStatus();
  }

  absl::Status WaitingFor(const char* why) {
    if (!said_waiting_) {
      Say(absl::StrFormat("waiting for %s: %s", arguments_.path, why));
    }
    said_waiting_ = true;
    return absl::OkStatus();
  }

  void Show(const report::AnalyzedProfile& whole) const {
    winsize size = {};
    const bool has_size = is_terminal_ && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    const int rows = has_size && size.ws_row > 1 ? size.ws_row - 1 : 24;
    const int columns = has_size && size.ws_col > 0 ? size.ws_col : 100;
    const std::string head =
        absl::StrCat(report::Printable(arguments_.path), ": ", report::RunSoFar(whole));
    const std::string text =
        absl::StrCat(report::ElideFront(head, columns), "\n",
                     absl::StrJoin(report::LiveTable(whole, rows - 1, columns), "\n"));
    // Home, and clear from there: no flicker of an empty screen between.
    fputs(is_terminal_ ? absl::StrCat("\033[H\033[J", text, "\n").c_str()
                       : absl::StrCat(text, "\n\n").c_str(),
          stdout);
    fflush(stdout);
  }

  bool WaitForInterrupt(uint64_t wait_ns) const {
    pollfd fd = {interrupt_.get(), POLLIN, 0};
    return poll(&fd, 1, static_cast<int>(wait_ns / kNsPerMs)) > 0;
  }

  const WatchArguments& arguments_;
  const bool is_terminal_;
  UniqueFd interrupt_;
  off_t seen_bytes_ = -1;
  ino_t seen_inode_ = 0;
  bool has_ended_ = false;
  bool said_waiting_ = false;
};

}  // namespace

void AddWatchCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand(
      "watch", "follow a profile that is being made, from another terminal or machine");
  auto arguments = std::make_shared<WatchArguments>();
  command->add_option("profile", arguments->path, "profile to follow (default profile.pb)");
  command->add_option("--interval", arguments->interval_s, "time between two looks (default 1)")
      ->transform(TimesWithUnits())
      ->check(NumberIn(CLI::Range(0.1, 3600.0)))
      ->type_name("SECONDS");
  command->add_flag("--once", arguments->once, "show it once and end");
  SetExamples(command, {{"watch", "profile.pb, while coz run makes it in another terminal"},
                        {"watch --once all.pb", "what it has by now"}});
  command->callback([arguments, exit_status] { *exit_status = Report(Watch(*arguments).Run()); });
}

}  // namespace coz
