// The coz command. One file per subcommand.
#include <iostream>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "tools/command_line.h"
#include "tools/version.h"

namespace coz {
namespace {

// "---" separates the program's command line from coz's, as the original has it; CLI11 knows "--".
std::vector<std::string> ArgumentsInReverse(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument == "---") {
      argument = "--";
      break;
    }
  }
  return {arguments.rbegin(), arguments.rend()};
}

int Main(int argc, char** argv) {
  EnterCallersFolder();
  CLI::App app(
      "coz finds out by experiment how much faster a program gets when one of its lines gets "
      "faster.",
      "coz");
  app.set_version_flag("--version", kCozVersion);
  app.require_subcommand(1);
  int exit_status = 0;
  AddRunCommand(app, &exit_status);
  AddPointsCommand(app, &exit_status);
  AddReportCommand(app, &exit_status);
  AddAnnotateCommand(app, &exit_status);
  AddPlotCommand(app, &exit_status);
  AddWatchCommand(app, &exit_status);
  AddCompareCommands(app, &exit_status);
  AddMergeCommand(app, &exit_status);
  AddExportCommand(app, &exit_status);
  AddImportCommand(app, &exit_status);
  AddDemoCommand(app, &exit_status);
  AddDocumentationCommand(app, &exit_status);
  try {
    app.parse(ArgumentsInReverse(argc, argv));
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" of CLI11 with status 0.
    return app.exit(error) == 0 ? 0 : kFailure;
  }
  return exit_status;
}

}  // namespace
}  // namespace coz

int main(int argc, char** argv) { return coz::Main(argc, argv); }
