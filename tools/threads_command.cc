// coz threads: what the threads of a running session have done so far.
#include <time.h>

#include <atomic>
#include <iostream>
#include <memory>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/clock.h"
#include "coz/base/command_name.h"
#include "coz/report/analysis/thread_table.h"
#include "coz/report/json/report_json.h"
#include "coz/report/json/threads_json.h"
#include "coz/report/report.h"
#include "coz/report/text/threads_text.h"
#include "coz/report/wording/text_layout.h"
#include "coz/supervisor/run/threads_in_profile.h"
#include "coz/supervisor/target/container_entry.h"
#include "coz/supervisor/target/running_session.h"
#include "coz/supervisor/target/thread_watch.h"
#include "nlohmann/json.hpp"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"

namespace coz {
namespace {

struct ThreadsArguments {
  int pid = 0;
  bool json = false;
  report::TextOptions text;
};

absl::StatusOr<report::ThreadTable> ReadTable(int pid) {
  if (supervisor::IsInContainer(pid)) {
    const absl::StatusOr<pid_t> inside = supervisor::EnterContainer(pid, "");
    if (!inside.ok()) return inside.status();
    pid = *inside;
  }
  const absl::StatusOr<supervisor::SessionView> session = supervisor::FindSession(pid);
  if (!session.ok()) return session.status();
  profile::Profile profile;
  constexpr uint64_t kSession = 1;
  profile.add_session()->set_id(kSession);
  supervisor::AddThreads(supervisor::ReadThreads(**session), supervisor::ThreadCounters(**session),
                         kSession, (*session)->start_ns, &profile);
  return report::BuildThreadTable(profile);
}

absl::Status PrintThreads(const ThreadsArguments& arguments) {
  const absl::StatusOr<report::ThreadTable> table = ReadTable(arguments.pid);
  if (!table.ok()) return table.status();
  if (arguments.json) {
    std::cout << report::JsonText(report::ThreadsJson(*table), 1) << "\n";
  } else {
    std::cout << WithCommandName(report::RenderThreads(*table, arguments.text));
  }
  std::cout.flush();
  if (std::cout) return absl::OkStatus();
  return absl::UnavailableError(
      "cannot write the output: the disk is full or the reader has gone; write to another file "
      "with `> FILE`");
}

}  // namespace

void AddThreadsCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand(
      "threads", "what the threads of a running session have done so far; stops nobody");
  auto arguments = std::make_shared<ThreadsArguments>();
  command->add_option("pid", arguments->pid, "a profiled process, or the coz that profiles it")
      ->required()
      ->check(CLI::PositiveNumber)
      ->type_name("PID");
  command
      ->add_option("-n,--lines", arguments->text.max_lines,
                   "rows of each table, 0 for all (default 20)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("COUNT");
  command->add_option("--width", arguments->text.width, "columns (default: the terminal's, or 100)")
      ->check(CLI::Range(40, 1000));
  command->add_flag("-v,--verbose", arguments->text.verbose, "threads of one name apart");
  command->add_flag("--json", arguments->json, "print JSON, as described in docs/report-json.md");
  SetExamples(command,
              {{"threads 4711", "of a process under coz run or coz attach, or of that coz"},
               {"threads --json 4711", "for programs"}});
  command->callback([command, arguments, exit_status] {
    if (command->count("--width") == 0) report::FitTerminal(STDOUT_FILENO, &arguments->text);
    *exit_status = Report(PrintThreads(*arguments));
  });
}

}  // namespace coz
