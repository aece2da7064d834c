// Writes the scripts that complete a command's subcommands, options and values in shells.
//
// Shape    one script per shell; what follows "---" of a subcommand is completed as a command of
//          its own
// Units    none
// Errors   none
// Threads  safe: no shared state
// Signals  not safe
// Source   bash(1) Programmable Completion; zshcompsys(1) _arguments; complete(1) of fish
#ifndef COZ_TOOLS_DOCUMENTATION_COMPLETION_H_
#define COZ_TOOLS_DOCUMENTATION_COMPLETION_H_

#include <string>

#include "tools/documentation/command_tree.h"

namespace coz {

std::string BashCompletion(const CommandDescription& command);
std::string ZshCompletion(const CommandDescription& command);
std::string FishCompletion(const CommandDescription& command);

}  // namespace coz

#endif  // COZ_TOOLS_DOCUMENTATION_COMPLETION_H_
