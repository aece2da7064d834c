// How the user starts coz, for messages that name the next command: what they say can be pasted.
//
// Shape    the name is set once, when the command starts; "coz" until then. So is the process that
//          the command attaches to; none until then
// Units    none
// Errors   none
// Threads  set before others start; then safe
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_BASE_COMMAND_NAME_H_
#define COZ_BASE_COMMAND_NAME_H_

#include <sys/types.h>

#include <string>

namespace coz {

void SetCommandName(std::string name);
const std::string& CommandName();

// The text with that name in each command to type: a "coz" with a subcommand behind a backquote,
// behind a colon and a blank, or behind "sudo".
std::string WithCommandName(std::string text);

// Of `coz attach`: the process that the user named.
void SetAttachedProcess(pid_t pid);

// The command that profiles, which the user typed, with `options`: "coz run OPTIONS --- …", or "coz
// attach OPTIONS PID".
std::string ProfilingCommand(const std::string& options);

}  // namespace coz

#endif  // COZ_BASE_COMMAND_NAME_H_
