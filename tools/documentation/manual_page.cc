#include "tools/documentation/manual_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace coz {
namespace {

constexpr char kPlainSections[] = R"(.SH EXIT STATUS
.B coz run
ends as the program ends, by the same status or signal.
What coz itself ends with, after one sentence on standard error that says what was tried, what was seen and what to do:
.TP
.B 1
A condition holds:
.BR "coz report \-\-fail\-if" .
.TP
.B 2
The command line is wrong: a command, an option or a value that there is not.
.TP
.B 3
Nothing was measured:
.B coz report
and
.B coz demo
have no experiment to show.
.B coz run
then ends as the program does.
.TP
.B 125
Something else kept coz from doing its work.
.TP
.B 126
The program was found and cannot be executed.
.TP
.B 127
The program was not found.
.SH ENVIRONMENT
.TP
.B DEBUGINFOD_URLS
Servers that separate debug information is asked from.
.SH FILES
.TP
.I profile.pb
The profile in the current folder that commands write and read when none is named.
.TP
.IR profile.pb.1 " to " profile.pb.9
Earlier ones, the last first, that runs have replaced.
A run without experiments replaces none that has some.
.SH SEE ALSO
.BR perf (1),
.BR gdb (1),
.BR perf_event_open (2)
)";

// In running text and in names alike; "-" would become a hyphen that nobody can copy.
std::string Escape(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
}

// A line of text of its own: a dot or an apostrophe at its beginning would be a request.
std::string TextLine(const std::string& text) { return absl::StrCat("\\&", Escape(text), "\n"); }

std::string Sentence(std::string text) {
  if (!text.empty()) text[0] = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
  if (!text.empty() && text.back() != '.' && text.back() != '?') text += '.';
  return text;
}

std::string Option(const OptionDescription& option) {
  const std::string value =
      Escape(option.choices.empty() ? option.value : absl::StrJoin(option.choices, "|"));
  std::vector<std::string> forms;
  for (const std::string& name : option.names) {
    const bool is_long = name.rfind("--", 0) == 0;
    forms.push_back(absl::StrCat(
        "\\fB", Escape(name), "\\fR",
        value.empty() ? "" : absl::StrCat(is_long ? "=" : " ", "\\fI", value, "\\fR")));
  }
  if (forms.empty()) forms.push_back(absl::StrCat("\\fI", value, "\\fR"));
  return absl::StrCat(".TP\n", absl::StrJoin(forms, ", "), "\n",
                      TextLine(Sentence(option.description)));
}

std::string Options(const CommandDescription& command) {
  std::string text;
  for (const OptionDescription& option : command.positionals) text += Option(option);
  for (const std::string& group : OptionGroups(command.options)) {
    if (group != kCommonGroup) absl::StrAppend(&text, ".PP\n\\fI", Escape(group), "\\fR\n");
    for (const OptionDescription& option : command.options) {
      if (option.group == group) text += Option(option);
    }
  }
  return text;
}

std::string Synopsis(const std::string& program, const CommandDescription& command) {
  return absl::StrCat("\\fB", program, " ", command.name, "\\fR ", Escape(command.usage), "\n");
}

std::string Examples(const CommandDescription& command) {
  std::string text;
  for (const Example& example : command.examples) {
    // The first paragraph of a section needs no macro.
    absl::StrAppend(&text, text.empty() ? "" : ".PP\n", TextLine(Sentence(example.what)),
                    ".PP\n.nf\n", TextLine(absl::StrCat("    coz ", example.arguments)), ".fi\n");
  }
  return text;
}

}  // namespace

std::string ManualPage(const CommandDescription& command, const std::string& version) {
  // No date: the same bytes each time.
  std::string page =
      absl::StrCat(".\\\" Generated from the option tables by tools/documentation.\n.TH ",
                   absl::AsciiStrToUpper(command.name), " 1 \"\" \"", command.name, " ", version,
                   "\" \"User Commands\"\n.SH NAME\n", command.name,
                   " \\- causal profiler for native Linux programs\n.SH SYNOPSIS\n");
  std::vector<std::string> synopses;
  for (const CommandDescription& sub : command.subcommands) {
    synopses.push_back(Synopsis(command.name, sub));
  }
  absl::StrAppend(&page, absl::StrJoin(synopses, ".br\n"), ".SH DESCRIPTION\n",
                  TextLine(Sentence(command.description)), ".SH OPTIONS\n", Options(command),
                  ".SH COMMANDS\n");
  for (const CommandDescription& sub : command.subcommands) {
    absl::StrAppend(&page, ".SS ", command.name, " ", sub.name, "\n",
                    TextLine(Sentence(sub.description)), Options(sub));
  }
  absl::StrAppend(&page, ".SH EXAMPLES\n", Examples(command));
  for (const CommandDescription& sub : command.subcommands) page += Examples(sub);
  return page + kPlainSections;
}

}  // namespace coz
