// coz diff, coz verify and coz history: what a change of the program did, and whether it was
// foreseen.
#include <unistd.h>

#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/report/compare/caveats.h"
#include "coz/report/compare/diff.h"
#include "coz/report/compare/history.h"
#include "coz/report/compare/verify.h"
#include "coz/report/condition/time_condition.h"
#include "coz/report/json/report_json.h"
#include "coz/report/report.h"
#include "nlohmann/json.hpp"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"
#include "tools/output_file.h"
#include "tools/seconds.h"
#include "tools/suggest_names.h"

namespace coz {
namespace {

constexpr char kHistoryFile[] = "coz-history.jsonl";

struct CompareArguments {
  std::string before;
  std::string after;
  bool json = false;
  bool markdown = false;
  size_t lines = 20;
  std::vector<std::string> fail_if;  // of diff
  report::AnalysisOptions analysis;
  // Of verify.
  std::string line;
  double percent = -1;
  bool record = false;
  std::string history = kHistoryFile;
};

struct Profiles {
  std::unique_ptr<const report::AnalyzedProfile> before;
  std::unique_ptr<const report::AnalyzedProfile> after;
};

absl::StatusOr<Profiles> ReadBoth(const CompareArguments& arguments) {
  Profiles profiles;
  auto before = report::ReadAndAnalyze(arguments.before, arguments.analysis);
  if (!before.ok()) return before.status();
  auto after = report::ReadAndAnalyze(arguments.after, arguments.analysis);
  if (!after.ok()) return after.status();
  profiles.before = *std::move(before);
  profiles.after = *std::move(after);
  return profiles;
}

// As wide as the terminal; any width where the output is none.
report::TextOptions Terminal() {
  report::TextOptions text;
  text.width = 0;
  report::FitTerminal(STDOUT_FILENO, &text);
  return text;
}

absl::Status Print(const std::string& text) {
  return WriteOutput("", /*is_binary=*/false, [&](std::ostream& out) {
    out << text;
    return absl::OkStatus();
  });
}

absl::StatusOr<report::ProfileDiff> ReadDiff(const CompareArguments& arguments) {
  absl::StatusOr<Profiles> profiles = ReadBoth(arguments);
  if (!profiles.ok()) return profiles.status();
  report::ProfileDiff diff = report::Compare(*profiles->before, *profiles->after);
  diff.before_path = arguments.before;
  diff.after_path = arguments.after;
  return diff;
}

absl::Status PrintDiff(const report::ProfileDiff& diff, const CompareArguments& arguments) {
  if (arguments.json) return Print(report::JsonText(report::DiffJson(diff), 2) + "\n");
  if (arguments.markdown) return Print(report::DiffMarkdown(diff, arguments.lines));
  const report::TextOptions terminal = Terminal();
  return Print(report::Fitted(report::DiffText(diff, arguments.lines, terminal.width), terminal));
}

// Says each condition that holds, and each that fits nothing. Returns the exit status.
int CheckConditions(const std::vector<report::TimeCondition>& conditions,
                    const report::ProfileDiff& diff) {
  bool holds = false;
  int exit_status = 0;
  for (const report::TimeCondition& condition : conditions) {
    const auto found = condition.Find(diff, SuggestNames);
    if (!found.ok()) {
      exit_status = Report(found.status());
    } else if (found->has_value()) {
      Say(**found);
      holds = true;
    }
  }
  return holds ? kConditionHolds : exit_status;
}

int Diff(const CompareArguments& arguments) {
  std::vector<report::TimeCondition> conditions;
  for (const std::string& text : arguments.fail_if) {
    absl::StatusOr<report::TimeCondition> condition = report::TimeCondition::Parse(text);
    if (!condition.ok()) return ReportUsage(condition.status());
    conditions.push_back(*std::move(condition));
  }
  const absl::StatusOr<report::ProfileDiff> diff = ReadDiff(arguments);
  if (!diff.ok()) return Report(diff.status());
  if (const absl::Status status = PrintDiff(*diff, arguments); !status.ok()) return Report(status);
  // The notes say why there are no figures, and no condition knows better.
  return diff->is_measured ? CheckConditions(conditions, *diff) : kNothingMeasured;
}

absl::Status VerifyLine(const CompareArguments& arguments) {
  absl::StatusOr<Profiles> profiles = ReadBoth(arguments);
  if (!profiles.ok()) return profiles.status();
  report::VerifyOptions options;
  options.line = arguments.line;
  if (arguments.percent >= 0) options.speedup = arguments.percent / 100;
  const auto found = report::Verify(*profiles->before, *profiles->after, options);
  if (!found.ok()) return found.status();
  const std::vector<std::string> notes = report::Caveats(*profiles->before, *profiles->after);
  std::string text;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const report::Verification& verification : *found) {
    text += report::VerificationText(verification);
    json.push_back(report::VerificationJson(verification));
    // The score is of predictions that were tested.
    if (!arguments.record || !report::IsOutcome(verification.outcome)) continue;
    const absl::StatusOr<bool> is_new = report::AppendHistory(
        arguments.history, {static_cast<int64_t>(time(nullptr)), verification});
    if (!is_new.ok()) return is_new.status();
    if (!*is_new) {
      Say(absl::StrFormat("note: this outcome is in %s already, and counts once",
                          arguments.history));
    }
  }
  if (arguments.json) {
    const nlohmann::ordered_json whole = {
        {"schema", "coz-verify"},   {"schema_version", 1}, {"before", arguments.before},
        {"after", arguments.after}, {"notes", notes},      {"verifications", json}};
    return Print(report::JsonText(whole, 2) + "\n");
  }
  for (const std::string& note : notes) text += absl::StrCat("  note: ", note, "\n");
  return Print(report::Fitted(text, Terminal()));
}

absl::Status ShowHistory(const CompareArguments& arguments) {
  const absl::StatusOr<report::History> history = report::ReadHistory(arguments.history);
  if (!history.ok()) return history.status();
  if (arguments.json) return Print(report::JsonText(report::HistoryJson(*history), 2) + "\n");
  const report::TextOptions terminal = Terminal();
  return Print(report::Fitted(report::HistoryText(*history, terminal.width), terminal));
}

// Takes a % sign off. A bare number below 1 is refused: it is meant as a fraction.
CLI::Validator PercentSign() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        if (absl::EndsWith(text, "%")) {
          text.pop_back();
          return "";
        }
        double number = 0;
        if (!absl::SimpleAtod(text, &number) || !(number > 0 && number < 1)) return "";
        return absl::StrFormat("%s is in percent; write %.4g%% or, if that is meant, %s%%", text,
                               100 * number, text);
      },
      "");
}

void AddProfiles(CLI::App* command, CompareArguments* arguments) {
  command->add_option("before", arguments->before, "profile of the program as it was")->required();
  command->add_option("after", arguments->after, "profile of the program as it is now")->required();
  command
      ->add_option("--min-speedups", arguments->analysis.min_speedups,
                   "set a line aside that was tried with fewer speedups (default 3)")
      ->check(CLI::Range(1, 20));
}

}  // namespace

void AddCompareCommands(CLI::App& app, int* exit_status) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* diff = app.add_subcommand(
      "diff", "which lines gained or lost importance between two profiles, and what became faster");
  AddProfiles(diff, arguments.get());
  CLI::Option* json = diff->add_flag("--json", arguments->json, "as JSON (docs/compare.md)");
  diff->add_flag("--markdown", arguments->markdown, "as Markdown, for a pull request")
      ->excludes(json);
  diff->add_option("-n,--lines", arguments->lines,
                   "lines to show for each progress point, 0 for all (default 20)")
      ->check(WholeNumber());
  diff->add_option("--fail-if", arguments->fail_if,
                   "end with status 1 when a visit of a progress point takes longer now, such as "
                   "'time(requests) > 5%' (repeatable; docs/fail-if.md)")
      ->type_name("CONDITION")
      ->allow_extra_args(false);
  SetExamples(diff, {{"diff before.pb after.pb --markdown", "for a pull request"},
                     {"diff before.pb after.pb --fail-if 'time(requests) > 5%'", "for a CI job"}});
  diff->callback([arguments, exit_status] { *exit_status = Diff(*arguments); });

  CLI::App* verify = app.add_subcommand(
      "verify", "what was predicted for a line that was made faster, and what happened");
  AddProfiles(verify, arguments.get());
  verify
      ->add_option("--line", arguments->line,
                   "what was made faster, as the report names it (default: the line whose CPU time "
                   "for each visit fell most)")
      ->type_name("FILE:LINE");
  verify
      ->add_option("--by", arguments->percent,
                   "by how much it was sped up (default: from its CPU time in both profiles)")
      ->needs("--line")
      ->transform(PercentSign())
      ->check(NumberIn(CLI::Range(0.0, 100.0)))
      ->type_name("PERCENT");
  verify->add_flag("--json", arguments->json, "as JSON (docs/compare.md)");
  verify->add_flag("--record", arguments->record, "add the outcome to the history");
  verify->add_option("--history", arguments->history, "the history (default coz-history.jsonl)")
      ->type_name("FILE");
  SetExamples(verify,
              {{"verify before.pb after.pb", "did the prediction of what became faster hold?"},
               {"verify before.pb after.pb --line a.cc:12", "that of this line?"}});
  verify->callback([arguments, exit_status] { *exit_status = Report(VerifyLine(*arguments)); });

  CLI::App* history = app.add_subcommand(
      "history", "the score of the predictions that were verified with --record");
  history->add_option("file", arguments->history, "the history (default coz-history.jsonl)");
  history->add_flag("--json", arguments->json, "as JSON (docs/compare.md)");
  SetExamples(history, {{"history", "the outcomes in coz-history.jsonl"},
                        {"history ci/predictions.jsonl --json", "for programs"}});
  history->callback([arguments, exit_status] { *exit_status = Report(ShowHistory(*arguments)); });
}

}  // namespace coz
