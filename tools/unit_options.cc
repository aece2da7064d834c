#include "tools/unit_options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "coz/base/call_path_name.h"

namespace coz {
namespace {

constexpr double kRangeStep = 5;  // percent

// From 0 to 100; a sign of percent may follow.
bool ReadPercent(std::string text, double* percent) {
  if (!text.empty() && text.back() == '%') text.pop_back();
  char* end = nullptr;
  *percent = strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0' && *percent >= 0 && *percent <= 100;
}

absl::Status ParseGroups(const std::vector<std::string>& texts,
                         std::vector<sourcemap::UnitGroup>* groups) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "--group %s has no name and pattern; write --group NAME=PATTERN, for example --group "
          "hashing=hash.cc",
          text));
    }
    const std::string name = text.substr(0, equals);
    auto group =
        std::find_if(groups->begin(), groups->end(),
                     [&](const sourcemap::UnitGroup& known) { return known.name == name; });
    if (group == groups->end()) group = groups->insert(group, {name, {}});
    group->patterns.emplace_back(text.substr(equals + 1));
  }
  return absl::OkStatus();
}

absl::Status ParseGiven(const std::string& text, supervisor::RunOptions* run) {
  if (text.empty()) return absl::OkStatus();
  const size_t equals = text.rfind('=');
  double percent = 0;
  if (equals == std::string::npos || equals == 0 ||
      !ReadPercent(text.substr(equals + 1), &percent) || percent == 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--given %s is no unit with a percentage above 0 and up to 100; write for example --given "
        "'main.cc:12=50%%'",
        text));
  }
  run->given = text.substr(0, equals);
  run->given_speedup = percent / 100;
  return absl::OkStatus();
}

// The most callers that a fixed or given unit names.
size_t CallersNamed(const UnitArguments& arguments, const supervisor::RunOptions& run) {
  size_t most = SplitCallPath(run.given).size() - 1;
  for (const std::string& name : arguments.fixed_lines) {
    most = std::max(most, SplitCallPath(name).size() - 1);
  }
  return most;
}

absl::Status ChooseKind(const UnitArguments& arguments, supervisor::RunOptions* run) {
  const size_t named = CallersNamed(arguments, *run);
  const bool are_paths = arguments.unit.empty() && (named > 0 || arguments.callers > 0);
  if (are_paths) run->units.kind = sourcemap::UnitKind::kPath;
  if (!arguments.unit.empty()) sourcemap::ParseUnitKind(arguments.unit, &run->units.kind);
  if (run->units.kind != sourcemap::UnitKind::kPath) {
    if (arguments.callers == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrFormat(
        "--callers says how call paths are told apart, and --unit=%s has none; add --unit=path",
        arguments.unit));
  }
  const size_t callers =
      arguments.callers > 0 ? static_cast<size_t>(arguments.callers) : std::max<size_t>(1, named);
  if (named > callers || callers >= sourcemap::kMaxPathFunctions) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "a unit was named with %d callers, and paths have at most %d here; name fewer, or add "
        "--callers=N with an N up to %d",
        named, std::min<size_t>(callers, sourcemap::kMaxPathFunctions - 1),
        sourcemap::kMaxPathFunctions - 1));
  }
  run->units.callers = static_cast<uint32_t>(callers);
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseSpeedups(const std::vector<std::string>& texts, std::vector<double>* fractions) {
  for (const std::string& text : texts) {
    const size_t dash = text.find('-', 1);
    double first = 0;
    double last = 0;
    bool ok = ReadPercent(text.substr(0, dash), &first);
    last = first;
    if (dash != std::string::npos) ok = ok && ReadPercent(text.substr(dash + 1), &last);
    if (!ok || last < first) {
      return absl::InvalidArgumentError(
          absl::StrFormat("--fixed-speedup=%s is not a percentage from 0 to 100, or a range of "
                          "them; write --fixed-speedup=50 or --fixed-speedup=0,10,20-50",
                          text));
    }
    for (int step = 0; first + step * kRangeStep < last; ++step) {
      fractions->push_back((first + step * kRangeStep) / 100);
    }
    fractions->push_back(last / 100);
  }
  // A speedup named twice would be tried twice as often.
  std::sort(fractions->begin(), fractions->end());
  fractions->erase(std::unique(fractions->begin(), fractions->end()), fractions->end());
  return absl::OkStatus();
}

void AddUnitOptions(CLI::App* command, UnitArguments* a) {
  command
      ->add_option(
          "--unit", a->unit,
          "what is sped up as a whole; line (default), function, file, library or path: a function "
          "where one caller calls it; function, library and path need no debug information; or "
          "wait: waits for disk, network or clock, by the line of their call")
      ->check(CLI::IsMember({"line", "function", "file", "library", "path", "wait"}));
  command
      ->add_option(
          "--group", a->groups,
          "speed up together what matches: file:line, file:first-last, files or functions; "
          "* is a wildcard; repeat it for more patterns or groups")
      ->allow_extra_args(false)
      ->type_name("NAME=PATTERN");
  command
      ->add_option("--exclude", a->exclude,
                   "never experiment on these files, functions or lines; their time counts for "
                   "their callers")
      ->allow_extra_args(false)
      ->type_name("PATTERN");
  command
      ->add_option("--fixed-line,--fixed-unit", a->fixed_lines,
                   "experiment on this line alone (or function, file, library, group by name, or "
                   "'f<g': f where g calls it); may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE:LINE");
  command
      ->add_option("--fixed-speedup", a->fixed_speedups,
                   "experiment with these speedups alone, in percent; 20-50 means steps of 5; one "
                   "experiment in four stays a baseline")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("PERCENT,...");
  command
      ->add_option("--given", a->given,
                   "speed this up in every experiment, baselines too: what is left to gain after "
                   "that optimization?")
      ->type_name("UNIT=PERCENT");
}

void AddExpertUnitOptions(CLI::App* command, UnitArguments* a) {
  command->add_flag(
      "--without-inlined-copies", a->without_inlined_copies,
      "with --unit=function: inlined code counts for the function it was inlined into");
  command
      ->add_option("--callers", a->callers,
                   "by how many callers call paths are told apart, 1 (default) to 4; means "
                   "--unit=path where no --unit is given")
      ->check(CLI::Range(1, 4))
      ->type_name("N");
  command
      ->add_option(
          "--attribution", a->attribution,
          "callers (default): time outside the scope counts for the first caller in scope; "
          "innermost: it counts for nothing")
      ->check(CLI::IsMember({"innermost", "callers"}));
}

absl::Status CompleteUnits(const UnitArguments& arguments, supervisor::RunOptions* run) {
  if (absl::Status status = ParseGiven(arguments.given, run); !status.ok()) return status;
  if (absl::Status status = ChooseKind(arguments, run); !status.ok()) return status;
  if (arguments.without_inlined_copies && run->units.kind != sourcemap::UnitKind::kFunction) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--without-inlined-copies says how functions are counted, and --unit=%s has none; add "
        "--unit=function",
        sourcemap::NameOf(run->units.kind)));
  }
  run->units.inlined_copies = !arguments.without_inlined_copies;
  if (absl::Status status = ParseGroups(arguments.groups, &run->units.groups); !status.ok()) {
    return status;
  }
  run->groups = arguments.groups;
  for (const std::string& pattern : arguments.exclude) run->units.exclude.emplace_back(pattern);
  run->fixed_units = arguments.fixed_lines;
  run->innermost_only = arguments.attribution == "innermost";
  if (run->innermost_only && run->units.kind == sourcemap::UnitKind::kWait) {
    return absl::InvalidArgumentError(
        "--attribution=innermost leaves no wait, since every wait is in a call out of the scope; "
        "drop it, or --unit=wait");
  }
  return ParseSpeedups(arguments.fixed_speedups, &run->fixed_speedups);
}

}  // namespace coz
