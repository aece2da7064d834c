#include <cstdio>
#include <memory>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "coz/base/version.h"
#include "tools/command_line.h"
#include "tools/documentation/completion.h"
#include "tools/documentation/manual_page.h"

namespace coz {
namespace {

std::string Generate(const std::string& format, const CommandDescription& command) {
  if (format == "man") return ManualPage(command, kCozVersion);
  if (format == "bash") return BashCompletion(command);
  if (format == "zsh") return ZshCompletion(command);
  return FishCompletion(command);
}

}  // namespace

void AddDocumentationCommand(CLI::App& app, int* exit_status) {
  CLI::App* command =
      app.add_subcommand("documentation", "print the man page, or the completion for a shell");
  command->group("");  // for the build; hidden
  auto format = std::make_shared<std::string>();
  command->add_option("format", *format, "what to print")
      ->required()
      ->check(CLI::IsMember({"man", "bash", "zsh", "fish"}));
  command->callback([&app, format, exit_status] {
    const std::string text = Generate(*format, DescribeCommand(app));
    if (fwrite(text.data(), 1, text.size(), stdout) != text.size() || fflush(stdout) != 0) {
      *exit_status = Report(absl::UnavailableError(
          "cannot write to standard output; is the disk full, or the pipe closed?"));
    }
  });
}

}  // namespace coz
