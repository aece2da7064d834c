#include <memory>
#include <string>

#include "CLI/App.hpp"
#include "absl/strings/str_format.h"
#include "coz/experiment/seed.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/supervisor/run/run_profile.h"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"
#include "tools/report_output.h"
#include "tools/run_options.h"

namespace coz {
namespace {

bool IsToRunAgain(const supervisor::RunResult& result) {
  return result.exit.status == 0 && result.exit.signal == 0 && !WasInterrupted(result) &&
         !result.precise_enough;
}

// Where the program itself ended the series.
void SayWhySeriesEnded(const supervisor::ExitState& exit, int runs, int most) {
  if (exit.status == 0 && exit.signal == 0) return;
  const std::string how = exit.signal != 0 ? absl::StrFormat("was ended by signal %d", exit.signal)
                                           : absl::StrFormat("ended with status %d", exit.status);
  Say(absl::StrFormat(
      "the series ended after run %d of %d, for the program %s, and a run that fails is the last; "
      "make it end with status 0, or type: coz run --follow=all --repeat=%d --- sh -c 'PROGRAM "
      "ARGUMENTS; "
      "exit 0'",
      runs, most, how, most));
}

// Runs the program into one profile until that is precise enough, at most `most` times. A program
// that fails or an interrupt ends it.
absl::StatusOr<supervisor::RunResult> RunRepeatedly(supervisor::RunOptions run, int most) {
  // Each run makes other random choices. The same seed repeats them all.
  if (most > 1 && !run.seed) run.seed = experiment::DrawSeed();
  absl::StatusOr<supervisor::RunResult> result = supervisor::RunProfile(run, {1, most, {}});
  const supervisor::EarlierProfiles earlier =
      result.ok() ? result->earlier : supervisor::EarlierProfiles();
  bool has_experiments = result.ok() && result->profile.experiment_size() > 0;
  int runs = 1;
  while (result.ok() && IsToRunAgain(*result) && runs < most) {
    run.append = true;
    run.seed = *run.seed + 1;
    result = supervisor::RunProfile(run, {++runs, most, std::move(result->profile)});
    has_experiments |= result.ok() && result->profile.experiment_size() > 0;
  }
  if (result.ok() && runs < most && !WasInterrupted(*result)) {
    SayWhySeriesEnded(result->exit, runs, most);
  }
  const bool came_back = supervisor::SettleProfiles(earlier, run.output, has_experiments);
  if (result.ok()) result->earlier = earlier;
  if (result.ok()) result->earlier_came_back = came_back;
  if (result.ok() && has_experiments && IsToRunAgain(*result) && !result->precision.empty()) {
    Say(absl::StrFormat(
        "%s the profile is not as precise as --until asks (%s); go on with: %s",
        most > 1 ? absl::StrFormat("after %d runs", runs) : std::string("at its end"),
        result->precision,
        report::CommandToAdd(run.output, 0, *result->profile.session().rbegin())));
  }
  return result;
}

void Execute(const CLI::App& command, RunArguments* arguments, int* exit_status) {
  absl::Status status =
      arguments->run.command.empty()
          ? absl::InvalidArgumentError("no program was named; write: coz run --- PROGRAM ARGUMENTS")
          : CompleteRunArguments(command, arguments);
  if (!status.ok()) {
    *exit_status = ReportUsage(status);
    return;
  }
  absl::StatusOr<supervisor::RunResult> result = RunRepeatedly(arguments->run, arguments->repeat);
  if (!result.ok()) {
    *exit_status = Report(result.status());
    return;
  }
  PrintRunSummary(*result, stderr);
  supervisor::ExitLike(result->exit);
}

}  // namespace

void AddRunCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand("run", "run a program and profile it");
  auto arguments = std::make_shared<RunArguments>();
  command->add_option("program", arguments->run.command, "the program and its arguments")
      ->type_name("");
  AddPointOptions(command, arguments.get());
  AddCountOption(command, arguments.get());
  AddScopeOptions(command, arguments.get());
  AddFollowOption(command, arguments.get());
  AddLengthOptions(command, arguments.get());
  AddRepeatOptions(command, arguments.get());
  AddOutputOptions(command, arguments.get());
  AddExperimentOptions(command, arguments.get());
  AddSamplingOptions(command, arguments.get());
  AddSamplerOption(command, arguments.get());
  SetExamples(command,
              {{"run --- ./server --port 8080", "profile a program until it ends, or Ctrl-C"},
               {"run --until=10 --- ./server", "until the figures are precise enough"},
               {"run --progress=Handle --- ./server", "count calls of a function as progress"},
               {"run --end-to-end --repeat=40 --- ./convert a.png", "a program that ends soon"},
               {"run --unit=function --- ./server", "a program built without -g"}});
  command->callback([command, arguments, exit_status] {
    OutliveReaders();
    Execute(*command, arguments.get(), exit_status);
  });
}

}  // namespace coz
