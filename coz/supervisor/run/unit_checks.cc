#include "coz/supervisor/run/unit_checks.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/points/closest_names.h"

namespace coz::supervisor {
namespace {

constexpr size_t kNamesShown = 3;

// Why a name of a function may be missing where others are there.
std::string InlinedHint(const UnitIndex& units) {
  return units.rules().inlined_copies
             ? ""
             : ", or, if it is inlined wherever it is called, drop --without-inlined-copies";
}

absl::Status NotFound(std::string_view option, const std::string& name, const UnitIndex& units) {
  const std::string unknown = units.Unknown(name);
  const std::string belongs_to =
      unknown == name ? absl::StrFormat("this %s", sourcemap::NameOf(units.rules().kind)) : unknown;
  return absl::NotFoundError(absl::StrFormat(
      "%s=%s: no code of the program belongs to %s (blank, optimised away, "
      "out of scope or misspelt)%s; name one with code or widen --source-scope%s",
      option, name, belongs_to, points::ClosestPhrase(units.Closest(name)), InlinedHint(units)));
}

// A pattern of --group that holds what `name` names: the name, or for instances of a template with
// what stands around it.
std::string PatternOf(const std::string& name, const UnitIndex& units, experiment::UnitId example) {
  const sourcemap::UnitDescription what = units.Describe(example).what;
  for (const std::string& pattern : {absl::StrCat(name, "<*"), absl::StrCat("*", name, "<*")}) {
    if (sourcemap::UnitPattern(name).MatchesCode(what.file, what.line, what.function)) break;
    if (sourcemap::UnitPattern(pattern).MatchesCode(what.file, what.line, what.function)) {
      return absl::StrCat("'", pattern, "'");
    }
  }
  return name;
}

absl::Status CheckName(std::string_view option, const std::string& name, const UnitIndex& units,
                       bool may_come_later) {
  const std::vector<experiment::UnitId> found = units.Find(name);
  if (found.empty()) return may_come_later ? absl::OkStatus() : NotFound(option, name, units);
  if (found.size() == 1 || units.FindCode(name).size() == 1) return absl::OkStatus();
  std::set<std::string> names;
  for (experiment::UnitId unit : found) names.insert(units.Describe(unit).what.Name());
  // Two static functions of one name have equal names, and so have closures of one function.
  const bool have_equal_names = names.size() == 1;
  if (have_equal_names) {
    names.clear();
    for (experiment::UnitId unit : found) {
      const sourcemap::UnitDescription what = units.Describe(unit).what;
      names.insert(absl::StrFormat("%s of %s:%d", what.function, what.file, what.line));
    }
  }
  std::vector<std::string> shown(names.begin(), names.end());
  const size_t more = shown.size() > kNamesShown ? shown.size() - kNamesShown : 0;
  shown.resize(shown.size() - more);
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s=%s means more than one %s: %s%s; write %s, or take them together with --group NAME=%s",
      option, name, sourcemap::NameOf(units.Describe(found.front()).what.kind),
      absl::StrJoin(shown, ", "), more == 0 ? "" : absl::StrFormat(" and %d more", more),
      have_equal_names ? absl::StrFormat("one of them as here ('%s')", shown.front())
                       : "more of its name",
      PatternOf(name, units, found.front())));
}

std::string NamesOfAll(const UnitIndex& units, const std::vector<experiment::UnitId>& ids) {
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (experiment::UnitId id : ids) names.push_back(units.Describe(id).what.Name());
  return absl::StrJoin(names, ", ");
}

absl::Status CheckGroups(const UnitIndex& units, bool may_come_later) {
  if (!units.overlaps().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("groups overlap: ", absl::StrJoin(units.overlaps(), "; "),
                     "; a unit can be in one --group only, so narrow a pattern"));
  }
  if (may_come_later) return absl::OkStatus();
  for (size_t i = 0; i < units.rules().groups.size(); ++i) {
    if (units.group_has_code()[i]) continue;
    const sourcemap::UnitGroup& group = units.rules().groups[i];
    std::vector<std::string> patterns;
    for (const sourcemap::UnitPattern& pattern : group.patterns) patterns.push_back(pattern.text());
    return absl::NotFoundError(absl::StrFormat(
        "--group %s=%s matches no code of the program%s; patterns are file:line, file:first-last, "
        "files or functions, and * stands for anything%s",
        group.name, absl::StrJoin(patterns, ", "),
        points::ClosestPhrase(units.Closest(patterns.front())), InlinedHint(units)));
  }
  return absl::OkStatus();
}

absl::Status CheckExcluded(const UnitIndex& units, bool may_come_later) {
  if (may_come_later) return absl::OkStatus();
  for (size_t i = 0; i < units.exclude_has_code().size(); ++i) {
    if (units.exclude_has_code()[i]) continue;
    const std::string& pattern = units.rules().exclude[i].text();
    return absl::NotFoundError(absl::StrFormat(
        "--exclude=%s matches no code of the program%s; leave it out, or write file:line, "
        "file:first-last, a file or a function, where * stands for anything%s",
        pattern, points::ClosestPhrase(units.Closest(pattern)), InlinedHint(units)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckUnits(const RunOptions& options, const UnitIndex& units) {
  const bool may_come_later = !options.binary_scope.empty() || options.is_launcher ||
                              options.units.kind == sourcemap::UnitKind::kLibrary;
  if (absl::Status status = CheckGroups(units, may_come_later); !status.ok()) return status;
  if (absl::Status status = CheckExcluded(units, may_come_later); !status.ok()) return status;
  const bool is_line = options.units.IsByLine();
  const std::string_view fixed = is_line ? "--fixed-line" : "--fixed-unit";
  for (const std::string& name : options.fixed_units) {
    absl::Status status = CheckName(fixed, name, units, may_come_later);
    if (!status.ok()) return status;
  }
  if (options.given.empty()) return absl::OkStatus();
  absl::Status status = CheckName("--given", options.given, units, may_come_later);
  if (!status.ok()) return status;
  const std::vector<experiment::UnitId> given = units.Find(options.given);
  if (given.size() > 1) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--given=%s is in every group of threads, and one can be given; write one of %s",
        options.given, NamesOfAll(units, given)));
  }
  for (const std::string& name : options.fixed_units) {
    const std::vector<experiment::UnitId> fixed_units = units.Find(name);
    if (given.empty() ||
        std::find(fixed_units.begin(), fixed_units.end(), given.front()) == fixed_units.end()) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrFormat("--given and %s both name %s; what is given is sped up in every "
                        "experiment already, so name another %s",
                        fixed, name, sourcemap::NameOf(options.units.kind)));
  }
  return absl::OkStatus();
}

std::string MissingUnit(const RunOptions& options, const UnitIndex& units) {
  for (const std::string& name : options.fixed_units) {
    if (units.Find(name).empty()) return name;
  }
  return options.given.empty() || !units.Find(options.given).empty() ? "" : options.given;
}

}  // namespace coz::supervisor
