#include <memory>

#include "CLI/App.hpp"
#include "CLI/Validators.hpp"
#include "coz/base/command_name.h"
#include "coz/supervisor/run/run_profile.h"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"
#include "tools/report_output.h"
#include "tools/run_options.h"

namespace coz {
namespace {

int Attach(const CLI::App& command, RunArguments* arguments) {
  if (absl::Status status = CompleteRunArguments(command, arguments); !status.ok()) {
    return ReportUsage(status);
  }
  SetAttachedProcess(arguments->run.attach_pid);
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
  SetExamples(command,
              {{"attach --duration 60 $(pgrep -x server)", "profile a server for a minute"},
               {"attach --progress=HandleRequest 4711", "until Ctrl-C; count calls of a function"},
               {"attach --unit=function 4711", "a program built without -g"},
               {"attach --tree 4711", "a server and its worker processes"}});
  command->callback(
      [command, arguments, exit_status] { *exit_status = Attach(*command, arguments.get()); });
}

}  // namespace coz
