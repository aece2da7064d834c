#include "tools/documentation/help_page.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "coz/report/wording/text_layout.h"

namespace coz {
namespace {

constexpr int kIndent = 2;
constexpr int kCommandColumn = 15;  // where what subcommands do begins
constexpr int kOptionColumn = 26;   // the same of options
constexpr int kNarrow = 60;         // below, descriptions stand under the names

std::string Blanks(int count) { return std::string(static_cast<size_t>(std::max(count, 0)), ' '); }

// Words in lines up to `width` columns. The first goes on at column `at`, the others begin at
// `indent`.
std::string Filled(const std::string& text, int at, int indent, int width) {
  std::string filled;
  int column = at;
  bool is_first = true;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const int columns = report::DisplayWidth(word);
    if (!is_first && column + 1 + columns > width) {
      absl::StrAppend(&filled, "\n", Blanks(indent));
      column = indent;
      is_first = true;
    }
    absl::StrAppend(&filled, is_first ? "" : " ", word);
    column += columns + (is_first ? 0 : 1);
    is_first = false;
  }
  return filled + "\n";
}

// "  NAME   what it does", where the name leaves room; else what it does stands below.
std::string Entry(const std::string& name, const std::string& what, int column, int width) {
  const std::string head = absl::StrCat(Blanks(kIndent), name);
  if (width < kNarrow) column = 3 * kIndent;
  const int gap = column - report::DisplayWidth(head);
  if (gap >= 2) return absl::StrCat(head, Blanks(gap), Filled(what, column, column, width));
  return absl::StrCat(head, "\n", Blanks(column), Filled(what, column, column, width));
}

std::string OptionNames(const OptionDescription& option, int width) {
  std::string names = absl::StrJoin(option.names, ", ");
  if (names.empty()) return option.value;
  if (option.value.empty()) return names;
  const char* separator = option.names.back().rfind("--", 0) == 0 ? "=" : " ";
  const std::string choices = absl::StrJoin(option.choices, "|");
  const std::string whole = absl::StrCat(names, separator, choices);
  const bool fits = !choices.empty() && report::DisplayWidth(whole) + kIndent <= width;
  return fits ? whole : absl::StrCat(names, separator, option.value);
}

std::string OptionEntry(const OptionDescription& option, int width) {
  const std::string names = OptionNames(option, width);
  std::string what = option.description;
  if (!option.choices.empty() && names.find('|') == std::string::npos) {
    absl::StrAppend(&what, "; one of ", absl::StrJoin(option.choices, ", "));
  }
  return Entry(names, what, kOptionColumn, width);
}

std::string Options(const CommandDescription& command, int width) {
  std::string text;
  if (!command.positionals.empty()) absl::StrAppend(&text, "\nArguments:\n");
  for (const OptionDescription& option : command.positionals) text += OptionEntry(option, width);
  for (const std::string& group : OptionGroups(command.options)) {
    absl::StrAppend(&text, "\n", group, ":\n");
    for (const OptionDescription& option : command.options) {
      if (option.group == group) text += OptionEntry(option, width);
    }
  }
  return text;
}

std::string Subcommands(const CommandDescription& command, int width) {
  std::string text;
  for (const std::string& group : CommandGroups(command.subcommands)) {
    absl::StrAppend(&text, "\n", group, ":\n");
    for (const CommandDescription& sub : command.subcommands) {
      if (sub.group == group) text += Entry(sub.name, sub.description, kCommandColumn, width);
    }
  }
  return text;
}

// Commands are not broken, so that they can be pasted.
std::string Examples(const CommandDescription& command, const std::string& name_to_type,
                     int width) {
  std::string text;
  for (const Example& example : command.examples) {
    absl::StrAppend(&text, text.empty() ? "\nExamples:\n" : "", Blanks(2 * kIndent), name_to_type,
                    " ", example.arguments, "\n", Blanks(4 * kIndent),
                    Filled(example.what, 4 * kIndent, 4 * kIndent, width));
  }
  return text;
}

std::string Capitalized(std::string text) {
  if (!text.empty()) text[0] = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
  return text;
}

}  // namespace

std::string HelpPage(const CommandDescription& command, const std::string& path,
                     const std::string& name_to_type, int width) {
  const std::string name = path.empty() ? command.name : absl::StrCat(path, " ", command.name);
  const std::string usage = absl::StrCat("Usage: ", name, " ", command.usage);
  std::string text = absl::StrCat(
      Filled(Capitalized(command.description) + (command.description.back() == '.' ? "" : "."), 0,
             0, width),
      "\n", Filled(usage, 0, 4 * kIndent, width), Subcommands(command, width),
      Options(command, width), Examples(command, name_to_type, width));
  if (!command.subcommands.empty()) {
    absl::StrAppend(
        &text, "\n",
        Filled(absl::StrCat("`", name_to_type, " help COMMAND` shows the options of a command."), 0,
               0, width));
  }
  return text;
}

}  // namespace coz
