// The coz command. One file per subcommand.
#include <signal.h>

#include <cstdio>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "coz/base/inherited_filter.h"
#include "coz/base/version.h"
#include "coz/base/write_signals.h"
#include "tools/command_line.h"
#include "tools/complaint.h"
#include "tools/documentation/command_tree.h"
#include "tools/output_file.h"

namespace coz {
namespace {

// Whether the option's value is the next word. Of an option that is none, the parser complains.
bool TakesNextWord(const CLI::App& command, const std::string& option) {
  if (option.find('=') != std::string::npos) return false;
  const bool is_short = !absl::StartsWith(option, "--");
  const CLI::Option* known = command.get_option_no_throw(is_short ? option.substr(0, 2) : option);
  if (known == nullptr || known->get_expected_max() == 0) return false;
  return !is_short || option.size() == 2;  // -oFILE
}

// The option whose value is missing before what the parser would take for it: the word behind
// "--output=", where a variable of the shell is not set, and the "---" behind "-o". Empty where
// there is none.
std::string OptionWithoutValue(const CLI::App& command, const std::vector<std::string>& arguments) {
  const bool has_program = command.get_option_no_throw("program") != nullptr;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--" || argument == "---") return "";
    if (argument.size() < 2 || argument[0] != '-') {
      if (has_program) return "";
      continue;
    }
    const std::string name = argument.substr(0, argument.find('='));
    if (absl::StartsWith(name, "--") && argument.size() == name.size() + 1) {
      const CLI::Option* known = command.get_option_no_throw(name);
      if (known != nullptr && known->get_expected_max() != 0) return name;
    }
    if (!TakesNextWord(command, argument) || ++i == arguments.size()) continue;
    const CLI::Option* known = command.get_option_no_throw(name);
    const bool needs_value = known->get_expected_min() != 0;
    if (needs_value && (arguments[i] == "--" || arguments[i] == "---")) return known->get_name();
  }
  return "";
}

// All that follows the program is the program's. "--" tells the parser so, and "---" as the
// original has it; where there is neither, the first word that is no option is the program.
void SeparateProgram(const CLI::App& command, std::vector<std::string>* arguments) {
  for (size_t i = 1; i < arguments->size(); ++i) {
    std::string& argument = (*arguments)[i];
    if (argument == "--") return;
    if (argument == "---") {
      argument = "--";
      return;
    }
    if (argument.size() < 2 || argument[0] != '-') {
      arguments->insert(arguments->begin() + static_cast<ptrdiff_t>(i), "--");
      return;
    }
    if (command.get_option_no_throw(argument.substr(0, argument.find('='))) == nullptr &&
        absl::StartsWith(argument, "--")) {
      return;
    }
    if (TakesNextWord(command, argument)) ++i;
  }
}

// The words for the parser.
absl::StatusOr<std::vector<std::string>> SeparatedWords(const CLI::App& app, int argc,
                                                        char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string name = arguments.empty() ? "" : arguments.front();
  const auto is_it = [&name](const CLI::App* command) { return command->get_name() == name; };
  for (const CLI::App* command : app.get_subcommands(is_it)) {
    const std::string option = OptionWithoutValue(*command, arguments);
    if (!option.empty()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s needs a value behind it; look with: coz %s --help", option, name));
    }
    if (command->get_option_no_throw("program") != nullptr) SeparateProgram(*command, &arguments);
  }
  return arguments;
}

void AddCommands(CLI::App& app, int* exit_status) {
  const auto heading = [&app](const char* group) {
    for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      if (command->get_group() == "Subcommands") command->group(group);
    }
  };
  AddRunCommand(app, exit_status);
  AddAttachCommand(app, exit_status);
  AddPointsCommand(app, exit_status);
  AddDemoCommand(app, exit_status);
  AddDoctorCommand(app, exit_status);
  AddSelftestCommand(app, exit_status);
  heading("Measure");
  AddReportCommand(app, exit_status);
  AddAnnotateCommand(app, exit_status);
  AddPlotCommand(app, exit_status);
  AddThreadsCommand(app, exit_status);
  AddWatchCommand(app, exit_status);
  heading("Look at a profile");
  AddCompareCommands(app, exit_status);
  AddMergeCommand(app, exit_status);
  heading("With several profiles");
  AddExportCommand(app, exit_status);
  AddImportCommand(app, exit_status);
  heading("With other tools");
  AddHelpCommand(app, exit_status);
  heading("Help");
  AddDocumentationCommand(app, exit_status);
}

int Main(int argc, char** argv) {
  IgnoreWriteSignal(SIGXFSZ);
  CallsOfInheritedFilter();  // before a command makes a call that would end this process
  StartAs(argv[0]);
  CLI::App app(
      "coz finds out by experiment how much faster a program gets when one of its lines gets "
      "faster.",
      "coz");
  app.set_version_flag("--version", kCozVersion, "print the version");
  app.get_help_ptr()->description("print this page");
  app.require_subcommand(1);
  SetExamples(&app, {{"demo", "see what coz does: it profiles a small program of its own"},
                     {"run --- ./server --port 8080", "profile a program of yours, built with -g"},
                     {"report", "rank its lines by what making them faster would bring"}});
  int exit_status = 0;
  AddCommands(app, &exit_status);
  const absl::StatusOr<std::vector<std::string>> words = SeparatedWords(app, argc, argv);
  if (!words.ok()) return ReportUsage(words.status());
  if (words->empty()) return PrintHelp(app, "");
  try {
    app.parse(std::vector<std::string>(words->rbegin(), words->rend()));
  } catch (const CLI::CallForHelp&) {
    const std::vector<CLI::App*> given = app.get_subcommands();
    return PrintHelp(app, given.empty() ? "" : given.front()->get_name());
  } catch (const CLI::ParseError& error) {
    // The version is an "error" of CLI11 with status 0.
    if (error.get_exit_code() == 0) return app.exit(error);
    return ReportUsage(absl::InvalidArgumentError(Complaint(app, error)));
  }
  return exit_status;
}

}  // namespace
}  // namespace coz

int main(int argc, char** argv) {
  const int exit_status = coz::Main(argc, argv);
  // What has failed has said why.
  return exit_status == coz::kFailure || coz::IsAllPrinted() ? exit_status : coz::kFailure;
}
