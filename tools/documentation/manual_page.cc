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
Where coz itself fails the status is 125, and one sentence on standard error says what was tried, what was seen and what to do.
.SH ENVIRONMENT
.TP
.B DEBUGINFOD_URLS
Servers that separate debug information is asked from.
.SH FILES
.TP
.I profile.pb
The profile in the current folder that commands write and read when none is named.
.SH EXAMPLES
Profile a server for ten minutes, then see what matters:
.PP
.nf
    coz run \-\-duration=600 \-\-\- ./server \-\-port 8080
    coz report
    coz plot \-\-open
.fi
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
  for (const OptionDescription& option : command.options) text += Option(option);
  return text;
}

std::string Synopsis(const std::string& program, const CommandDescription& command) {
  std::string text = absl::StrCat("\\fB", program, " ", command.name, "\\fR [\\fIoptions\\fR]");
  for (const OptionDescription& positional : command.positionals) {
    absl::StrAppend(&text, " [\\fI", Escape(positional.value), "\\fR",
                    positional.is_repeatable ? " ...]" : "]");
  }
  return text + "\n";
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
  return page + kPlainSections;
}

}  // namespace coz
