#include "tools/documentation/command_tree.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace coz {
namespace {

// CLI11 keeps checks behind the type: "FILE:LINE", but "MS:FLOAT in [0.1 - 1000]", "N:NONNEGATIVE".
std::string WithoutChecks(const std::string& type) {
  for (const char* check :
       {":{", ":NONNEGATIVE", ":POSITIVE", ":INT in", ":UINT in", ":FLOAT in"}) {
    if (const size_t begin = type.find(check); begin != std::string::npos) {
      return type.substr(0, begin);
    }
  }
  return type;
}

void DescribeValue(const CLI::Option& option, OptionDescription* described) {
  if (option.get_expected_max() == 0) return;  // a flag
  const std::string type = option.get_type_name();
  if (const size_t open = type.find(":{"); open != std::string::npos && type.back() == '}') {
    described->choices = absl::StrSplit(type.substr(open + 2, type.size() - open - 3), ',');
  }
  described->value = WithoutChecks(type);
  for (const char* number : {"INT", "UINT", "FLOAT"}) {
    if (described->value == number) described->value = "NUMBER";
  }
  if (described->value == "TEXT") described->value = described->choices.empty() ? "VALUE" : "KIND";
  if (described->value.empty()) described->value = "VALUE";
}

OptionDescription DescribeOption(const CLI::Option& option) {
  OptionDescription described;
  described.description = option.get_description();
  described.is_repeatable = option.get_items_expected_max() > 1;
  described.is_required = option.get_required();
  described.group = option.get_group();
  for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  DescribeValue(option, &described);
  if (option.get_positional()) described.value = absl::AsciiStrToUpper(option.get_name(true));
  return described;
}

// "--- PROGRAM [ARGUMENTS]" of the commands that start one.
std::string Usage(const CommandDescription& command) {
  if (!command.subcommands.empty()) return "COMMAND [options]";
  std::string usage = "[options]";
  for (const OptionDescription& positional : command.positionals) {
    if (positional.value == "PROGRAM") {
      absl::StrAppend(&usage, " --- PROGRAM [ARGUMENTS]");
      continue;
    }
    const std::string value =
        absl::StrCat(positional.value, positional.is_repeatable ? " ..." : "");
    absl::StrAppend(&usage, " ", positional.is_required ? value : absl::StrCat("[", value, "]"));
  }
  return usage;
}

// Of the footer, in which SetExamples has put them.
std::vector<Example> Examples(const CLI::App& app) {
  std::vector<Example> examples;
  for (const auto& line : absl::StrSplit(app.get_footer(), '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line, absl::MaxSplits('\t', 1));
    examples.push_back({parts.first, parts.second});
  }
  return examples;
}

template <typename Item>
std::vector<std::string> Groups(const std::vector<Item>& items) {
  std::vector<std::string> groups;
  bool has_common = false;
  for (const Item& item : items) {
    if (item.group == kCommonGroup) {
      has_common = true;
    } else if (std::find(groups.begin(), groups.end(), item.group) == groups.end()) {
      groups.push_back(item.group);
    }
  }
  if (has_common) groups.emplace_back(kCommonGroup);
  return groups;
}

}  // namespace

std::vector<std::string> OptionGroups(const std::vector<OptionDescription>& options) {
  return Groups(options);
}

std::vector<std::string> CommandGroups(const std::vector<CommandDescription>& commands) {
  return Groups(commands);
}

void SetExamples(CLI::App* app, const std::vector<Example>& examples) {
  std::string lines;
  for (const Example& example : examples) {
    absl::StrAppend(&lines, example.arguments, "\t", example.what, "\n");
  }
  app->footer(lines);
}

CommandDescription DescribeCommand(const CLI::App& app) {
  CommandDescription command;
  command.name = app.get_name();
  command.description = app.get_description();
  command.group = app.get_group();
  command.examples = Examples(app);
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    OptionDescription described = DescribeOption(*option);
    (described.names.empty() ? command.positionals : command.options)
        .push_back(std::move(described));
  }
  const auto is_visible = [](const CLI::App* sub) { return !sub->get_group().empty(); };
  for (const CLI::App* subcommand : app.get_subcommands(is_visible)) {
    command.subcommands.push_back(DescribeCommand(*subcommand));
  }
  command.usage = Usage(command);
  return command;
}

}  // namespace coz
