#include "tools/complaint.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "coz/points/closest_names.h"

namespace coz {
namespace {

std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The first option, else the first word: a word before an option may be its value.
std::string FirstUnknown(const std::vector<std::string>& unknown) {
  std::string first;
  for (const std::string& text : unknown) {
    if (text == "--") continue;
    if (absl::StartsWith(text, "-")) return text;
    if (first.empty()) first = text;
  }
  return first;
}

// "--lines: Value x not in range 0.000000 to 1797693134862315708145…" in words.
bool RangeInWords(const std::string& what, std::string* words) {
  const size_t range = what.find(" not in range ");
  double low = 0;
  double high = 0;
  if (range == std::string::npos ||
      sscanf(what.c_str() + range, " not in range %lf to %lf", &low, &high) != 2) {
    return false;
  }
  const std::string value = absl::StrReplaceAll(what.substr(0, range), {{": Value ", ": "}});
  *words = high > 1e15 ? absl::StrFormat("%s is not a number of %g or more", value, low)
                       : absl::StrFormat("%s is not a number from %.9g to %.9g", value, low, high);
  return true;
}

// "--format: xml not in {csv,pprof}" in words.
bool ChoiceInWords(const std::string& what, std::string* words) {
  const size_t set = what.find(" not in {");
  const size_t colon = what.find(": ");
  if (set == std::string::npos || colon == std::string::npos || colon > set) return false;
  const std::string value = what.substr(colon + 2, set - colon - 2);
  const absl::string_view inner = absl::StripSuffix(absl::string_view(what).substr(set + 9), "}");
  const std::vector<std::string> choices = absl::StrSplit(inner, ',');
  *words = absl::StrFormat("%s: %s is none of %s%s", what.substr(0, colon), value,
                           absl::StrJoin(choices, ", "), DidYouMean(value, choices));
  return true;
}

// "--output: 1 required FILE missing", "Could not convert: --seed = x" in words.
std::string InWords(const std::string& what) {
  std::string words;
  if (RangeInWords(what, &words) || ChoiceInWords(what, &words)) return words;
  const size_t required = what.find(": 1 required ");
  if (required != std::string::npos && absl::EndsWith(what, " missing")) {
    return absl::StrCat(what.substr(0, required), " needs a value behind it");
  }
  constexpr absl::string_view kNotConverted = "Could not convert: ";
  const size_t equals = what.find(" = ");
  if (absl::StartsWith(what, kNotConverted) && equals != std::string::npos) {
    return absl::StrFormat("%s: %s is not a number",
                           what.substr(kNotConverted.size(), equals - kNotConverted.size()),
                           what.substr(equals + 3));
  }
  constexpr absl::string_view kRequired = " is required";
  if (absl::EndsWith(what, kRequired) && !absl::StartsWith(what, "-")) {
    const std::string name = what.substr(0, what.size() - kRequired.size());
    return absl::StrFormat("the argument %s is missing", absl::AsciiStrToUpper(name));
  }
  const size_t excludes = what.find(" excludes ");
  if (excludes != std::string::npos) {
    return absl::StrFormat("%s and %s cannot be given together", what.substr(0, excludes),
                           what.substr(excludes + 10));
  }
  return what;
}

std::string Unknown(const CLI::App& app, const CLI::App* given, const std::string& command,
                    const std::string& unknown) {
  if (!absl::StartsWith(unknown, "-")) {
    return given == nullptr ? absl::StrFormat("there is no command %s%s", unknown,
                                              DidYouMean(unknown, SubcommandNames(app)))
                            : absl::StrFormat("%s has no use for the word %s", command, unknown);
  }
  const std::string name = unknown.substr(0, unknown.find('='));
  return absl::StrFormat("%s does not know %s%s", command, name,
                         DidYouMean(name, OptionNames(given == nullptr ? app : *given)));
}

}  // namespace

std::string DidYouMean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string bare(absl::StripPrefix(word, "--"));
  // A third of a word may be wrong; of a short one, a letter.
  const int limit = std::max(1, static_cast<int>(bare.size()) / 3);
  std::string best;
  int best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    const std::string other(absl::StripPrefix(candidate, "--"));
    const bool is_beginning = bare.size() >= 2 && absl::StartsWith(other, bare);
    // Letters in another order are one mistake.
    const bool is_mixed_up =
        bare.size() == other.size() && std::is_permutation(bare.begin(), bare.end(), other.begin());
    const int distance = is_beginning  ? 0
                         : is_mixed_up ? 1
                                       : points::EditDistance(bare, other, limit);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best.empty() ? "" : absl::StrFormat("; did you mean %s?", best);
}

std::vector<std::string> SubcommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  }
  return names;
}

std::string Complaint(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  const CLI::App* const sub = given.empty() ? nullptr : given.front();
  const std::string command = sub == nullptr ? "coz" : absl::StrCat("coz ", sub->get_name());
  const std::string unknown = FirstUnknown(app.remaining(/*recurse=*/true));
  const std::string what =
      unknown.empty() ? InWords(error.what()) : Unknown(app, sub, command, unknown);
  return absl::StrFormat("%s%s with: %s --help", what, what.back() == '?' ? " Look" : "; look",
                         command);
}

}  // namespace coz
