#include "tools/documentation/command_tree.h"

#include "absl/strings/ascii.h"
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
  if (described->value.empty()) described->value = "VALUE";
}

OptionDescription DescribeOption(const CLI::Option& option) {
  OptionDescription described;
  described.description = option.get_description();
  described.is_repeatable = option.get_items_expected_max() > 1;
  for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  DescribeValue(option, &described);
  if (option.get_positional()) described.value = absl::AsciiStrToUpper(option.get_name(true));
  return described;
}

}  // namespace

CommandDescription DescribeCommand(const CLI::App& app) {
  CommandDescription command{app.get_name(), app.get_description(), {}, {}, {}};
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
  return command;
}

}  // namespace coz
