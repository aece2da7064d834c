// The commands and options of a CLI11 application as plain data, for what is generated from them.
//
// Shape    a tree: the application, its subcommands; hidden ones are left out; the order of
//          definition
// Units    none
// Errors   none
// Threads  safe: no shared state
// Signals  not safe
// Source   CLI11 2.1, Formatter.hpp: what --help makes of the same members
#ifndef COZ_TOOLS_DOCUMENTATION_COMMAND_TREE_H_
#define COZ_TOOLS_DOCUMENTATION_COMMAND_TREE_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"

namespace coz {

// The group of what every command has, --help. It stands last.
inline constexpr char kCommonGroup[] = "Options";

struct OptionDescription {
  std::vector<std::string> names;    // with their dashes; empty for a positional argument
  std::string value;                 // what stands for the value: FILE, SECONDS; empty for a flag
  std::vector<std::string> choices;  // the only values there are; empty: any
  bool is_repeatable = false;
  bool is_required = false;
  std::string group;
  std::string description;
};

struct Example {
  std::string arguments;  // behind "coz"
  std::string what;
};

struct CommandDescription {
  std::string name;
  std::string description;
  std::string group;
  std::string usage;  // behind the name: "[options] FILE [PROFILE]"
  std::vector<Example> examples;
  std::vector<OptionDescription> options;
  std::vector<OptionDescription> positionals;
  std::vector<CommandDescription> subcommands;
};

CommandDescription DescribeCommand(const CLI::App& app);

// Headings in the order in which they are first met, but the common one last.
std::vector<std::string> OptionGroups(const std::vector<OptionDescription>& options);
std::vector<std::string> CommandGroups(const std::vector<CommandDescription>& commands);

// Gives the application examples, for DescribeCommand to find.
void SetExamples(CLI::App* app, const std::vector<Example>& examples);

}  // namespace coz

#endif  // COZ_TOOLS_DOCUMENTATION_COMMAND_TREE_H_
