// The coz command. One file per subcommand.
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "coz/base/version.h"
#include "tools/command_line.h"

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

// "--lines: Value x not in range 0.000000 to 1797693134862315708145…" in words.
std::string WithPlainRange(const std::string& what) {
  const size_t range = what.find(" not in range ");
  double low = 0;
  double high = 0;
  if (range == std::string::npos ||
      sscanf(what.c_str() + range, " not in range %lf to %lf", &low, &high) != 2) {
    return what;
  }
  const std::string value = absl::StrReplaceAll(what.substr(0, range), {{": Value ", ": "}});
  return high > 1e15 ? absl::StrFormat("%s is not a number of %g or more", value, low)
                     : absl::StrFormat("%s is not a number from %.9g to %.9g", value, low, high);
}

// The first option, else the first word: a word before an option may be its value.
std::string FirstUnknown(const std::vector<std::string>& unknown) {
  std::string first;
  for (const std::string& text : unknown) {
    if (text == "--") continue;
    if (absl::StartsWith(text, "-")) return text;
    if (first.empty()) first = text;
  }
  return first;
}

// In one sentence; CLI11 takes two, and names the separator where only an option is unknown.
std::string Complaint(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  const std::string command =
      given.empty() ? "coz" : absl::StrCat("coz ", given.front()->get_name());
  std::string what = WithPlainRange(error.what());
  const std::string unknown = FirstUnknown(app.remaining(/*recurse=*/true));
  if (!unknown.empty()) what = absl::StrFormat("%s does not know %s", command, unknown);
  return absl::StrFormat("%s; look with: %s --help", what, command);
}

int Main(int argc, char** argv) {
  StartAs(argv[0]);
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
    if (error.get_exit_code() == 0) return app.exit(error);
    return Report(absl::InvalidArgumentError(Complaint(app, error)));
  }
  return exit_status;
}

}  // namespace
}  // namespace coz

int main(int argc, char** argv) { return coz::Main(argc, argv); }
