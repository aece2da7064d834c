#include <fcntl.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "CLI/App.hpp"
#include "CLI/Validators.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "coz/base/command_name.h"
#include "coz/supervisor/run/run_profile.h"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"
#include "tools/process_entry.h"
#include "tools/report_output.h"
#include "tools/run_options.h"

namespace coz {
namespace {

// The current folder stays outside, so that the profile does.
absl::Status GoWhereTheProcessIs(supervisor::RunOptions* run) {
  const pid_t pid = run->attach_pid;
  const std::filesystem::path output = run->output;
  if (output.is_absolute()) run->output = std::filesystem::relative(output);
  // Containers have none of the devices that matter. The descriptor stays open.
  const int devices = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (devices >= 0) {
    run->awake_device = absl::StrFormat("/proc/self/fd/%d/cpu_dma_latency", devices);
  }
  const absl::StatusOr<pid_t> inside = GoWhereProcessIs(
      pid,
      absl::StrFormat("coz: the container of process %d has ended, and with it what coz did there; "
                      "see what was measured until then with: coz report %s",
                      pid, run->output),
      &run->runtime_library);
  if (!inside.ok()) return inside.status();
  run->attach_pid = *inside;
  run->named_pid = pid;
  return absl::OkStatus();
}

// Options of coz run that mean nothing for a process that runs already, and what to do instead.
struct OptionOfRun {
  const char* name;
  const char* instead;
};
constexpr OptionOfRun kOptionsOfRun[] = {
    {"--follow",
     "says which processes of a program that coz starts are profiled; of one that runs, profile "
     "all "
     "that descend from it with: coz attach --tree %d"},
    {"--repeat",
     "starts a program several times, and coz attach starts none; for more into the same profile "
     "attach again with: coz attach --append %d"},
    {"--daemon",
     "waits for the last process of a program that coz starts; of one that runs, name the process "
     "that lasts, with all that descend from it: coz attach --tree %d"}};

absl::Status RefuseOptionsOfRun(const CLI::App& command, pid_t pid) {
  for (const OptionOfRun& option : kOptionsOfRun) {
    if (command.count(option.name) == 0) continue;
    const std::string instead = absl::StrReplaceAll(option.instead, {{"%d", std::to_string(pid)}});
    return absl::InvalidArgumentError(absl::StrCat(option.name, " ", instead));
  }
  return absl::OkStatus();
}

// Help does not name them.
void AddOptionsOfRun(CLI::App* command) {
  command->option_defaults()->group("");
  for (const OptionOfRun& option : kOptionsOfRun) {
    command->add_option(option.name)->expected(0, 1);
  }
}

int Attach(const CLI::App& command, RunArguments* arguments) {
  if (absl::Status status = RefuseOptionsOfRun(command, arguments->run.attach_pid); !status.ok()) {
    return ReportUsage(status);
  }
  if (absl::Status status = CompleteRunArguments(command, arguments); !status.ok()) {
    return ReportUsage(status);
  }
  const pid_t pid = arguments->run.attach_pid;
  SetAttachedProcess(pid);
  if (IsElsewhere(pid, arguments->run.runtime_library)) {
    if (absl::Status status = GoWhereTheProcessIs(&arguments->run); !status.ok()) {
      return Report(status);
    }
  }
  arguments->run.is_launcher = arguments->run.attach_tree;
  const absl::StatusOr<supervisor::RunResult> result = supervisor::RunProfile(arguments->run);
  if (!result.ok()) return Report(result.status());
  supervisor::SettleProfiles(result->earlier, arguments->run.output,
                             result->profile.experiment_size() > 0);
  PrintRunSummary(*result, stderr);
  if (!result->left.ok()) return kFailure;
  return result->profile.experiment_size() == 0 ? kNothingMeasured : 0;
}

}  // namespace

void AddAttachCommand(CLI::App& app, int* exit_status) {
  CLI::App* command =
      app.add_subcommand("attach", "profile a process that runs already, and leave it as it was");
  auto arguments = std::make_shared<RunArguments>();
  command->add_option("pid", arguments->run.attach_pid, "the process, by its number")
      ->required()
      ->check(CLI::PositiveNumber)
      ->type_name("PID");
  command->add_flag("--tree", arguments->run.attach_tree,
                    "profile the process and all that descend from it, such as the workers of a "
                    "server");
  AddPointOptions(command, arguments.get());
  AddCountOption(command, arguments.get());
  AddScopeOptions(command, arguments.get());
  AddLengthOptions(command, arguments.get());
  AddOutputOptions(command, arguments.get());
  AddExperimentOptions(command, arguments.get());
  AddSamplingOptions(command, arguments.get());
  AddAttachSamplerOption(command, arguments.get());
  AddOptionsOfRun(command);
  SetExamples(command,
              {{"attach --duration 60 $(pgrep -x server)", "profile a server for a minute"},
               {"attach --progress=HandleRequest 4711", "until Ctrl-C; count calls of a function"},
               {"attach --unit=function 4711", "a program built without -g"},
               {"attach --tree 4711", "a server and its worker processes"}});
  command->callback([command, arguments, exit_status] {
    OutliveReaders();
    *exit_status = Attach(*command, arguments.get());
  });
}

}  // namespace coz
