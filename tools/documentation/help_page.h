// The page that `coz help` and --help print: what a command is for, how it is written, its options
// in groups, examples.
//
// Shape    UTF-8 text, lines of at most `width` columns where words are not longer
// Units    columns of a terminal
// Errors   none
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_TOOLS_DOCUMENTATION_HELP_PAGE_H_
#define COZ_TOOLS_DOCUMENTATION_HELP_PAGE_H_

#include <string>

#include "tools/documentation/command_tree.h"

namespace coz {

// `path` is what comes before the command's own name: nothing for the application itself, "coz" for
// its subcommands. `name_to_type` stands for the application's name in the examples.
std::string HelpPage(const CommandDescription& command, const std::string& path,
                     const std::string& name_to_type, int width);

}  // namespace coz

#endif  // COZ_TOOLS_DOCUMENTATION_HELP_PAGE_H_
