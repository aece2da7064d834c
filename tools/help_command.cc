#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "CLI/App.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/command_name.h"
#include "tools/command_line.h"
#include "tools/complaint.h"
#include "tools/documentation/help_page.h"

namespace coz {
namespace {

constexpr int kNarrowest = 40;
constexpr int kDefault = 80;
constexpr int kWidest = 100;  // longer lines are hard to read

// The terminal's; where the output is none, what the environment says.
int PageWidth() {
  winsize size = {};
  int columns = kDefault;
  const char* variable = getenv("COLUMNS");
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    columns = size.ws_col;
  } else if (variable == nullptr || !absl::SimpleAtoi(variable, &columns)) {
    columns = kDefault;
  }
  return std::clamp(columns, kNarrowest, kWidest);
}

}  // namespace

int PrintHelp(const CLI::App& app, const std::string& name) {
  const CommandDescription all = DescribeCommand(app);
  if (name.empty()) {
    fputs(HelpPage(all, "", CommandName(), PageWidth()).c_str(), stdout);
    const auto pages = FindProductFile("docs/README.md", "share/doc/coz/docs/README.md");
    if (pages.ok()) printf("More to read: %s\n", pages->c_str());
    return 0;
  }
  for (const CommandDescription& sub : all.subcommands) {
    if (sub.name != name) continue;
    fputs(HelpPage(sub, all.name, CommandName(), PageWidth()).c_str(), stdout);
    return 0;
  }
  const std::string meant = DidYouMean(name, SubcommandNames(app));
  return ReportUsage(absl::InvalidArgumentError(
      absl::StrFormat("there is no command %s%s with: coz help", name,
                      meant.empty() ? "; look" : absl::StrCat(meant, " Look"))));
}

void AddHelpCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand("help", "show the commands, or the options of one");
  auto name = std::make_shared<std::string>();
  command->add_option("command", *name, "a command (default: all of them in short)");
  command->callback([&app, name, exit_status] { *exit_status = PrintHelp(app, *name); });
}

}  // namespace coz
