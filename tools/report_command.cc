#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "CLI/App.hpp"
#include "coz/base/terminal.h"
#include "coz/report/report.h"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"
#include "tools/suggest_names.h"

namespace coz {

namespace {

bool WantsColor(const std::string& when) {
  if (when != "auto") return when == "always";
  const char* no_color = getenv("NO_COLOR");
  const bool forbidden = no_color != nullptr && *no_color != '\0';
  return CanDrawOn(STDOUT_FILENO) && !forbidden;
}

}  // namespace

void AddReportCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand(
      "report", "rank the lines of a profile by what speeding them up would bring");
  auto options = std::make_shared<report::ReportOptions>();
  command->add_option("profile", options->path,
                      "profile to read (default profile.pb; - is standard input)");
  command
      ->add_option("-n,--lines", options->text.max_lines,
                   "lines to show for each progress point, 0 for all (default 20)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("COUNT");
  command
      ->add_option("--min-speedups", options->analysis.min_speedups,
                   "set a line aside that was tried with fewer speedups (default 3)")
      ->check(CLI::Range(1, 20));
  command->add_option("--width", options->text.width, "columns (default: the terminal's, or 100)")
      ->check(CLI::Range(40, 1000));
  command
      ->add_option("--fail-if", options->fail_if,
                   "exit with status 1 if a line is like this, as 'gain(server.cpp:12) > 10%' or "
                   "'best(requests, decode.cc:*) >= 10%' (repeatable; docs/fail-if.md)")
      ->allow_extra_args(false)
      ->type_name("CONDITION");
  command->add_flag("--threads", options->threads,
                    "what each thread did instead: samples, CPU time, start and end, visits to "
                    "what is counted (-v: threads of one name apart; docs/threads.md)");
  command
      ->add_flag("--apis", options->apis,
                 "calls into libraries instead, by function and caller, as coz run --api counts "
                 "them (-v: by thread too; docs/libraries.md)")
      ->excludes(command->get_option("--threads"));
  command
      ->add_option_function<std::string>(
          "--by",
          [options](const std::string& fact) {
            options->by = fact == "host"     ? report::GroupBy::kHost
                          : fact == "binary" ? report::GroupBy::kBinary
                                             : report::GroupBy::kKernel;
          },
          "what each host, binary or kernel of a merged profile says by itself instead, and which "
          "of them does not fit the others (docs/fleet.md)")
      ->check(CLI::IsMember({"host", "binary", "kernel"}))
      ->excludes(command->get_option("--threads"))
      ->excludes(command->get_option("--apis"));
  command->add_flag("-v,--verbose", options->text.verbose,
                    "below each line its verdict in words, statistics, and a row for each speedup "
                    "tried; how each run "
                    "was made");
  auto color = std::make_shared<std::string>("auto");
  command
      ->add_option("--color", *color,
                   "auto (default): on a terminal, unless NO_COLOR is set or TERM is dumb")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command->add_flag_callback(
      "--json", [options] { options->format = report::ReportFormat::kJson; },
      "print JSON, as described in docs/report-json.md");
  command
      ->add_flag_callback(
          "--markdown", [options] { options->format = report::ReportFormat::kMarkdown; },
          "print GitHub-flavoured Markdown, for a pull request")
      ->excludes(command->get_option("--json"))
      ->excludes(command->get_option("--by"));
  SetExamples(command, {{"report", "the profile in profile.pb"},
                        {"report -n 0 --verbose a.pb", "every line of another, with all figures"},
                        {"report --by host fleet.pb", "differences between hosts"},
                        {"report --fail-if 'gain(server.cc:12) > 10%'", "for a CI job"}});
  command->callback([command, options, color, exit_status] {
    options->text.color = WantsColor(*color);
    if (command->count("--width") != 0) {
      options->text.wrap = true;
    } else {
      report::FitTerminal(STDOUT_FILENO, &options->text);
    }
    options->suggest = SuggestNames;
    if (absl::Status status = report::CheckConditions(*options); !status.ok()) {
      *exit_status = ReportUsage(status);
      return;
    }
    bool measured = true;
    const absl::Status status = report::RunReport(*options, std::cout, &measured);
    *exit_status = Report(status);
    if (status.ok() && !measured) *exit_status = kNothingMeasured;
    // A finding, not a failure of coz.
    if (absl::IsAborted(status)) *exit_status = kConditionHolds;
  });
}

}  // namespace coz
