#include <memory>
#include <ostream>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/compact/compact.h"
#include "coz/report/format/merge.h"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"
#include "tools/output_file.h"

namespace coz {
namespace {

absl::StatusOr<report::MergeResult> MergeInto(report::MergeOptions options) {
  if (!IsStandardOutput(options.output)) return report::MergeProfiles(options);
  absl::StatusOr<report::MergeResult> result;
  absl::Status status = WriteOutput(options.output, /*is_binary=*/true, [&](std::ostream& out) {
    options.stream = &out;
    result = report::MergeProfiles(options);
    return result.status();
  });
  if (!status.ok()) return status;
  return result;
}

absl::Status Merge(report::MergeOptions options, bool compact) {
  report::Compactor compactor;
  if (compact) options.filter = &compactor;
  const absl::StatusOr<report::MergeResult> result = MergeInto(options);
  if (!result.ok()) return result.status();
  for (const std::string& note : result->notes) Say(absl::StrCat("note: ", note));
  if (result->noted_inputs > result->notes.size()) {
    const size_t more = result->noted_inputs - result->notes.size();
    Say(absl::StrFormat("note: %d more %s cut or damaged", more,
                        more == 1 ? "profile was" : "profiles were"));
  }
  if (result->repeated_sessions != 0) {
    Say(absl::StrFormat("note: %s given twice and %s once",
                        result->repeated_sessions == 1
                            ? "1 session was"
                            : absl::StrCat(result->repeated_sessions, " sessions were"),
                        result->repeated_sessions == 1 ? "counts" : "count"));
  }
  if (compactor.ArePooledMachines()) {
    Say("note: there are too many hosts to sum up each of them, so `coz report --by` cannot tell "
        "them apart; it can in a merge without --compact");
  }
  Say(absl::StrFormat("%s of %s %s in %s", Counted(result->experiments, "experiment"),
                      Counted(result->sessions, "session"), result->experiments == 1 ? "is" : "are",
                      PlaceOfProfile(options.output)));
  return absl::OkStatus();
}

}  // namespace

void AddMergeCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand("merge", "put profiles of one program into one");
  auto options = std::make_shared<report::MergeOptions>();
  command->add_option("profiles", options->inputs, "profiles to read, any number")->required();
  command->add_option("-o,--output", options->output, "profile to write (- is standard output)")
      ->required()
      ->type_name("FILE");
  command->add_flag("--any-program", options->any_program,
                    "do not ask whether they are of the same program (by build-id)");
  auto compact = std::make_shared<bool>(false);
  command->add_flag("--compact", *compact,
                    "keep sums of experiments where there are more than 65,536, so that the report "
                    "of millions takes little memory (docs/fleet.md)");
  SetExamples(command, {{"merge a.pb b.pb -o all.pb", "more runs, narrower intervals"}});
  command->callback(
      [options, compact, exit_status] { *exit_status = Report(Merge(*options, *compact)); });
}

}  // namespace coz
