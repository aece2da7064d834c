#include "coz/report/compare/comparable.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coz/report/compare/unit_match.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/unit_names.h"

namespace coz::report {
namespace {

template <typename T>
bool AreApart(const std::set<T>& some, const std::set<T>& others) {
  std::vector<T> both;
  std::set_intersection(some.begin(), some.end(), others.begin(), others.end(),
                        std::back_inserter(both));
  return both.empty() && !some.empty() && !others.empty();
}

std::set<int> KindsTried(const ExperimentTable& table) {
  std::set<int> kinds;
  for (const ExperimentRow& row : table.experiments) kinds.insert(table.units[row.unit].kind);
  return kinds;
}

using PointKey = std::pair<std::string, int>;

std::set<PointKey> PointsOf(const AnalyzedProfile& whole) {
  std::set<PointKey> points;
  for (const PointAnalysis& point : whole.analysis.points) {
    const PointRow& row = whole.table.points[point.point];
    points.insert({row.name, row.kind});
  }
  return points;
}

// Without lines: those change with the program.
template <typename FileOf>
std::set<std::string> PlacesOf(const ExperimentTable& table, FileOf file_of) {
  std::set<std::string> places;
  for (const UnitRow& unit : table.units) {
    for (const std::string& place : {file_of(unit.file), unit.function}) {
      if (!place.empty()) places.insert(place);
    }
  }
  return places;
}

std::string WhatTheyAreOf(const AnalyzedProfile& before, const AnalyzedProfile& after) {
  return absl::StrCat("they are of `", TargetCommand(before.profile), "` and of `",
                      TargetCommand(after.profile), "`");
}

}  // namespace

std::string WhyNoPointInCommon(const AnalyzedProfile& before, const AnalyzedProfile& after) {
  if (!AreApart(PointsOf(before), PointsOf(after))) return "";
  return absl::StrCat("the profiles have no progress point in common; ",
                      WhatTheyAreOf(before, after));
}

bool AreOfDifferentUnits(const AnalyzedProfile& before, const AnalyzedProfile& after) {
  return AreApart(KindsTried(before.table), KindsTried(after.table));
}

std::string WhyNoUnitInCommon(const AnalyzedProfile& before, const AnalyzedProfile& after) {
  if (AreOfDifferentUnits(before, after)) {
    return absl::StrCat("the first profile is of ", UnitNames(before.table).Plural(),
                        " and the second of ", UnitNames(after.table).Plural(),
                        ", so their figures cannot be compared; profile both with the same --unit");
  }
  const FileMatch files = MatchFiles(before.table, after.table);
  const auto of_before = [&](const std::string& file) { return files.AfterOf(file); };
  const auto of_after = [](const std::string& file) { return file; };
  if (AreApart(PlacesOf(before.table, of_before), PlacesOf(after.table, of_after))) {
    return absl::StrCat("the profiles have no function and no file in common; ",
                        WhatTheyAreOf(before, after));
  }
  return "";
}

}  // namespace coz::report
