#include "tools/documentation/completion.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace coz {
namespace {

// Descriptions stand in menus of one line.
std::string FirstPart(const std::string& description) {
  size_t end = description.size();
  for (const char* rest : {"; ", " (default ", " (default:"})
    end = std::min(end, description.find(rest));
  return description.substr(0, end);
}

std::string InQuotes(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string AllNames(const CommandDescription& command) {
  std::vector<std::string> names;
  for (const OptionDescription& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return absl::StrJoin(names, " ");
}

std::string SubcommandNames(const CommandDescription& command) {
  return absl::StrJoin(command.subcommands, " ",
                       [](std::string* out, const CommandDescription& sub) { *out += sub.name; });
}

// The one command whose argument is a command, not a file.
constexpr char kHelp[] = "help";

// Bash splits "--unit=li" into three words, for "=" is in COMP_WORDBREAKS.
constexpr char kBashFunction[] = R"(_coz() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} i
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    command=
  fi
  for ((i = 2; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == --- || ${COMP_WORDS[i]} == -- ]] || continue
    if declare -F _command_offset >/dev/null; then
      _command_offset $((i + 1))
    elif ((i + 1 == COMP_CWORD)); then
      mapfile -t COMPREPLY < <(compgen -c -- "$current")
    else
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
    return
  done
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]] && ((COMP_CWORD > 1)); then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  local values
  values=$(_coz_values "$command" "$previous")
  if [[ $values == FILES ]] || [[ ! $values && $current != -* && $command ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "${values:-$(_coz_options "$command")}" -- "$current")
  fi
}
complete -F _coz coz
)";

// What the option's value may be, as a pattern of `case` with its command; nothing for a flag.
std::string BashValues(const std::string& command, const OptionDescription& option) {
  if (option.value.empty()) return "";
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) {
    patterns.push_back(InQuotes(absl::StrCat(command, " ", name)));
  }
  return absl::StrCat(
      "    ", absl::StrJoin(patterns, " | "), ") echo ",
      InQuotes(option.choices.empty() ? "FILES" : absl::StrJoin(option.choices, " ")), " ;;\n");
}

std::string ZshText(const std::string& text) {
  return absl::StrReplaceAll(text, {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

std::string ZshOptions(const CommandDescription& command) {
  std::string text;
  for (const OptionDescription& option : command.options) {
    const std::string values = option.choices.empty()
                                   ? "_files"
                                   : absl::StrCat("(", absl::StrJoin(option.choices, " "), ")");
    for (const std::string& name : option.names) {
      const bool is_long = name.rfind("--", 0) == 0;
      absl::StrAppend(&text, " \\\n        '", option.is_repeatable ? "*" : "", name,
                      option.value.empty() ? ""
                      : is_long            ? "="
                                           : "+",
                      "[", ZshText(FirstPart(option.description)), "]");
      if (!option.value.empty()) absl::StrAppend(&text, ":", ZshText(option.value), ":", values);
      text += "'";
    }
  }
  return text;
}

std::string FishOption(const std::string& condition, const OptionDescription& option) {
  std::string text = absl::StrCat("complete -c coz -n ", InQuotes(condition));
  for (const std::string& name : option.names) {
    const bool is_long = name.rfind("--", 0) == 0;
    absl::StrAppend(&text, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
  }
  if (!option.choices.empty()) {
    absl::StrAppend(&text, " -x -a ", InQuotes(absl::StrJoin(option.choices, " ")));
  } else if (!option.value.empty()) {
    text += " -r";
  }
  return absl::StrCat(text, " -d ", InQuotes(FirstPart(option.description)), "\n");
}

}  // namespace

std::string BashCompletion(const CommandDescription& command) {
  std::string text =
      "# bash completion for coz. Generated from the option tables by tools/documentation.\n"
      "_coz_values() {\n  case \"$1 $2\" in\n";
  for (const CommandDescription& sub : command.subcommands) {
    for (const OptionDescription& option : sub.options) text += BashValues(sub.name, option);
  }
  absl::StrAppend(&text, "    '", kHelp, " ", kHelp, "') echo ", InQuotes(SubcommandNames(command)),
                  " ;;\n");
  absl::StrAppend(&text, "  esac\n}\n_coz_options() {\n  case $1 in\n    '') echo ",
                  InQuotes(absl::StrCat(SubcommandNames(command), " ", AllNames(command))),
                  " ;;\n");
  for (const CommandDescription& sub : command.subcommands) {
    absl::StrAppend(&text, "    ", sub.name, ") echo ", InQuotes(AllNames(sub)), " ;;\n");
  }
  return absl::StrCat(text, "  esac\n}\n", kBashFunction);
}

std::string ZshCompletion(const CommandDescription& command) {
  std::string text = absl::StrCat(
      "#compdef coz\n# Generated from the option tables by tools/documentation.\n_coz() {\n"
      "  local -a subcommands\n  local i\n  subcommands=(\n");
  for (const CommandDescription& sub : command.subcommands) {
    absl::StrAppend(&text, "    ",
                    InQuotes(absl::StrCat(sub.name, ":", FirstPart(sub.description))), "\n");
  }
  absl::StrAppend(&text, R"(  )
  if ((CURRENT == 2)); then
    _describe command subcommands
    _arguments)",
                  ZshOptions(command), R"(
    return
  fi
  for ((i = 3; i < CURRENT; i++)); do
    [[ ${words[i]} == --- || ${words[i]} == -- ]] || continue
    words=("${(@)words[i + 1,-1]}")
    ((CURRENT -= i))
    _normal
    return
  done
  local subcommand=${words[2]}
  words=("${(@)words[2,-1]}")
  ((CURRENT--))
  case $subcommand in
)");
  for (const CommandDescription& sub : command.subcommands) {
    const std::string words = sub.name == kHelp
                                  ? absl::StrCat("'1:command:(", SubcommandNames(command), ")'")
                                  : "'*:file:_files'";
    absl::StrAppend(&text, "    ", sub.name, ")\n      _arguments", ZshOptions(sub),
                    " \\\n        ", words, "\n      ;;\n");
  }
  return text + "  esac\n}\n_coz \"$@\"\n";
}

std::string FishCompletion(const CommandDescription& command) {
  std::string text =
      "# fish completion for coz. Generated from the option tables by tools/documentation.\n";
  for (const OptionDescription& option : command.options) {
    text += FishOption("__fish_use_subcommand", option);
  }
  for (const CommandDescription& sub : command.subcommands) {
    absl::StrAppend(&text, "complete -c coz -n __fish_use_subcommand -f -a ", sub.name, " -d ",
                    InQuotes(FirstPart(sub.description)), "\n");
    const std::string condition = absl::StrCat("__fish_seen_subcommand_from ", sub.name,
                                               "; and not contains -- --- (commandline -opc)");
    for (const OptionDescription& option : sub.options) text += FishOption(condition, option);
  }
  absl::StrAppend(&text, "complete -c coz -f -n ",
                  InQuotes(absl::StrCat("__fish_seen_subcommand_from ", kHelp,
                                        "; and test (count (commandline -opc)) -eq 2")),
                  " -a ", InQuotes(SubcommandNames(command)), "\n");
  return text;
}

}  // namespace coz
