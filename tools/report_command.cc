#include <unistd.h>

#include <iostream>
#include <memory>

#include "coz/report/report.h"
#include "tools/command_line.h"

namespace coz {

void AddReportCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand(
      "report", "rank the lines of a profile by what speeding them up would bring");
  auto options = std::make_shared<ReportOptions>();
  options->text.width = 0;
  command->add_option("profile", options->path,
                      "profile to read (default profile.pb; - is standard input)");
  command
      ->add_option("-n,--lines", options->text.max_lines,
                   "lines to show for each progress point, 0 for all (default 20)")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--min-speedups", options->analysis.min_speedups,
                   "set a line aside that was tried with fewer speedups (default 5)")
      ->check(CLI::Range(1, 20));
  command->add_option("--width", options->text.width, "columns (default: the terminal's, or 100)")
      ->check(CLI::Range(40, 1000));
  command->add_flag_callback(
      "--json", [options] { options->format = ReportFormat::kJson; },
      "print JSON, as described in docs/report-json.md");
  command->callback([options, exit_status] {
    if (options->text.width == 0) options->text.width = TerminalWidth(STDOUT_FILENO);
    *exit_status = Report(RunReport(*options, std::cout));
  });
}

}  // namespace coz
