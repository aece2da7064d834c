#include <cstdio>
#include <memory>

#include "CLI/App.hpp"
#include "absl/strings/str_format.h"
#include "coz/supervisor/run/run_profile.h"
#include "coz/supervisor/target/awake_cpus.h"
#include "tools/command_line.h"
#include "tools/report_output.h"
#include "tools/seconds.h"

namespace coz {
namespace {

absl::StatusOr<supervisor::RunResult> RunDemo(uint64_t seconds, const std::string& output) {
  supervisor::RunOptions run;
  absl::StatusOr<std::string> library =
      FindProductFile("coz/runtime/libcoz.so", "lib/coz/libcoz.so");
  if (!library.ok()) return library.status();
  run.runtime_library = *std::move(library);
  const absl::StatusOr<std::string> program =
      FindProductFile("examples/pipeline", "lib/coz/examples/pipeline");
  if (!program.ok()) return program.status();
  run.command = {AsStarted(*program, "examples/pipeline"), absl::StrFormat("%d", seconds)};
  run.output = output;
  // Its threads wait for each other all the time, so that halting CPUs would blur its known answer.
  run.awake = supervisor::KeepCpusAwake().ok();
  absl::StatusOr<supervisor::RunResult> result = supervisor::RunProfile(run);
  if (result.ok()) {
    result->earlier_came_back =
        supervisor::SettleProfiles(result->earlier, output, result->profile.experiment_size() > 0);
  }
  return result;
}

}  // namespace

void AddDemoCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand(
      "demo", "profile a small program that comes with coz, and show its report");
  struct Arguments {
    uint64_t seconds = 20;
    std::string output = "profile.pb";
  };
  auto arguments = std::make_shared<Arguments>();
  command->add_option("--seconds", arguments->seconds, "how long (default 20)")
      ->transform(TimesWithUnits())
      ->check(CLI::Range(2, 3600))
      ->type_name("SECONDS");
  command->add_option("-o,--output", arguments->output, "profile to write (default profile.pb)")
      ->type_name("FILE");
  command->callback([arguments, exit_status] {
    OutliveReaders();
    const absl::StatusOr<supervisor::RunResult> result =
        RunDemo(arguments->seconds, arguments->output);
    if (!result.ok()) {
      *exit_status = Report(result.status());
      return;
    }
    PrintRunSummary(*result, stdout);
    if (result->profile.experiment_size() == 0) *exit_status = kNothingMeasured;
  });
}

}  // namespace coz
