#include <memory>

#include "CLI/App.hpp"
#include "absl/strings/str_format.h"
#include "coz/report/format/merge.h"
#include "tools/command_line.h"

namespace coz {
namespace {

absl::Status Merge(const report::MergeOptions& options) {
  const absl::StatusOr<report::MergeResult> result = report::MergeProfiles(options);
  if (!result.ok()) return result.status();
  for (const std::string& note : result->notes) absl::FPrintF(stderr, "coz: note: %s\n", note);
  if (result->noted_inputs > result->notes.size()) {
    absl::FPrintF(stderr, "coz: note: %d more profiles were cut or damaged\n",
                  result->noted_inputs - result->notes.size());
  }
  if (result->repeated_sessions != 0) {
    absl::FPrintF(stderr, "coz: note: %d sessions were given twice and count once\n",
                  result->repeated_sessions);
  }
  absl::FPrintF(stderr, "coz: %d experiments of %d sessions are in %s: coz report %s\n",
                result->experiments, result->sessions, options.output, options.output);
  return absl::OkStatus();
}

}  // namespace

void AddMergeCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand(
      "merge", "put profiles of one program into one: coz merge a.pb b.pb -o c.pb");
  auto options = std::make_shared<report::MergeOptions>();
  command->add_option("profiles", options->inputs, "profiles to read, any number")->required();
  command->add_option("-o,--output", options->output, "profile to write")
      ->required()
      ->type_name("FILE");
  command->add_flag("--any-program", options->any_program,
                    "do not ask whether they are of the same program (by build-id)");
  command->callback([options, exit_status] { *exit_status = Report(Merge(*options)); });
}

}  // namespace coz
