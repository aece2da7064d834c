// Writes the man page of a command with subcommands.
//
// Shape    man(7) macros; sections for the subcommands and their options, and those that every page
//          has
// Units    none
// Errors   none
// Threads  safe: no shared state
// Signals  not safe
// Source   man(7), man-pages(7)
#ifndef COZ_TOOLS_DOCUMENTATION_MANUAL_PAGE_H_
#define COZ_TOOLS_DOCUMENTATION_MANUAL_PAGE_H_

#include <string>

#include "tools/documentation/command_tree.h"

namespace coz {

std::string ManualPage(const CommandDescription& command, const std::string& version);

}  // namespace coz

#endif  // COZ_TOOLS_DOCUMENTATION_MANUAL_PAGE_H_
