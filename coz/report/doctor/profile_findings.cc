#include "coz/report/doctor/profile_findings.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/text/report_notes.h"
#include "coz/report/wording/nothing_measured.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/scope_share.h"
#include "coz/report/wording/text_layout.h"
#include "coz/report/wording/verdict.h"

namespace coz::report {
namespace {

// Lines with fewer of the samples matter to nobody.
constexpr double kMattersShare = 0.02;

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string Percent(double share) { return absl::StrFormat("%.0f %%", 100 * share); }

// What a longer run needs, rounded up.
std::string InWords(double seconds) {
  if (seconds > 48 * 3600) return "days";
  if (seconds >= 2 * 3600) return absl::StrFormat("%.0f h", seconds / 3600);
  if (seconds >= 120) return absl::StrFormat("%.0f min", std::ceil(seconds / 60));
  return absl::StrFormat("%.0f s", std::ceil(seconds / 10) * 10);
}

void AddPoints(const ExperimentTable& table, std::vector<Finding>* findings) {
  std::string never;
  size_t visited = 0;
  for (const PointRow& point : table.points) {
    if (point.visits > 0) {
      ++visited;
    } else {
      absl::StrAppend(&never, never.empty() ? "" : ", ", Printable(point.name));
    }
  }
  if (visited == 0 || never.empty()) return;
  findings->push_back({Grade::kWarning, "points",
                       absl::StrCat("never visited: ", never, "; ", Counted(visited, "other"),
                                    visited == 1 ? " was" : " were"),
                       "give the program work that reaches them, or leave them"});
}

void AddVisits(const AnalyzedProfile& profile, std::vector<Finding>* findings) {
  constexpr double kMany = 0.2;
  for (const PointAnalysis& point : profile.analysis.points) {
    const PointRow& row = profile.table.points[point.point];
    const int all = profile.analysis.experiments;
    if (row.visits == 0 || point.low_visit_experiments <= kMany * all) continue;
    findings->push_back(
        {Grade::kWarning, "visits",
         absl::StrFormat("`%s` is visited %.2g times a second, so %d of %d experiments saw fewer "
                         "than %d visits and tell nothing of it",
                         Printable(row.name),
                         static_cast<double>(row.visits) /
                             std::max(1.0, static_cast<double>(profile.table.run_time_ns) / 1e9),
                         point.low_visit_experiments, all,
                         static_cast<int>(profile.analysis.options.min_visits)),
         "put a progress point where smaller units of work are done, or make experiments longer: "
         "coz run --experiment-length=5"});
  }
}

void AddSamples(const AnalyzedProfile& profile, std::vector<Finding>* findings) {
  constexpr uint64_t kFew = 1000;
  const ExperimentTable& table = profile.table;
  if (table.samples < kFew) {
    findings->push_back(
        {Grade::kWarning, "samples",
         absl::StrCat("only ", Counted(table.samples, "sample"),
                      table.samples == 1 ? " was" : " were", " taken, so most lines have none"),
         absl::StrCat("give the program more to do, or let it run longer: ",
                      CommandWith("", profile.profile))});
  }
  std::string out_of_scope = MostlyOutOfScope(table);
  if (out_of_scope.empty()) return;
  findings->push_back(
      {Grade::kWarning, "scope", std::move(out_of_scope),
       absl::StrCat("build what is yours with -g; to see which library it is: ",
                    CommandWith("--unit=library", profile.profile),
                    "; to take libraries in: ", CommandWith("-b % -s %", profile.profile))});
}

void AddDebugInfo(const profile::Profile& profile, std::vector<Finding>* findings) {
  for (const profile::Binary& binary : profile.binary()) {
    if (binary.debug_info_found()) continue;
    findings->push_back(
        {Grade::kNote, "debug info",
         absl::StrCat(Printable(binary.path()), " has none, so its lines cannot be sped up"),
         "build it with -g, or measure functions: coz run --unit=function"});
  }
}

// What lines that matter still lack.
struct Lacking {
  size_t decided = 0;
  size_t undecided = 0;
  double undecided_share = 0;  // of samples
  double more_s = 0;           // for all that a longer run can tell
  double first_s = 0;          // for the one of them that lacks least
  bool some_never = false;
};

Lacking FindLacking(const AnalyzedProfile& profile, const PointAnalysis& point) {
  const VerdictContext context = {profile.analysis.options, profile.table.run_time_ns,
                                  &profile.profile};
  Lacking lacking;
  const auto add = [&](size_t unit, const std::optional<uint64_t>& more) {
    const double share = Share(profile.table.units[unit].samples, profile.table.samples);
    if (share < kMattersShare) return;
    ++lacking.undecided;
    lacking.undecided_share += share;
    if (more.has_value()) {
      const double more_s = static_cast<double>(*more) / 1e9;
      lacking.first_s = lacking.more_s == 0 ? more_s : std::min(lacking.first_s, more_s);
      lacking.more_s = std::max(lacking.more_s, more_s);
    } else {
      lacking.some_never = true;
    }
  };
  for (const LineAnalysis& line : point.lines) {
    if (line.verdict != Verdict::kCannotTell) {
      ++lacking.decided;
    } else {
      add(line.unit, RemainingNs(line, context));
    }
  }
  for (const LineSetAside& line : point.set_aside) {
    if (line.reason == SetAsideReason::kSmall) {
      ++lacking.decided;
    } else {
      add(line.unit, RemainingNs(line, context));
    }
  }
  return lacking;
}

// A run that adds so much: as many runs as that takes, where the program ends before, and none of
// them cut short.
std::string CommandToAddSeconds(double seconds, const std::string& path,
                                const profile::Profile& profile) {
  constexpr double kMostRuns = 1000;
  profile::Session session =
      profile.session_size() == 0 ? profile::Session() : *profile.session().rbegin();
  const uint64_t duration_ns = session.options().duration_ns();
  if (duration_ns != 0) {
    const auto wanted_ns = static_cast<uint64_t>(std::ceil(seconds) * 1e9);
    session.mutable_options()->set_duration_ns(std::max(duration_ns, wanted_ns));
  }
  // The run time goes on to the program's end, also where the duration ended the profile before.
  const bool is_cut =
      duration_ns != 0 && session.options().attached_pid() == 0 && profile.session_end_size() > 0;
  const double run_s =
      is_cut ? static_cast<double>(profile.session_end().rbegin()->run_time_ns()) / 1e9
             : SecondsUntilItEnds(profile);
  const double runs =
      run_s > 0 && seconds > run_s ? std::clamp(std::ceil(seconds / run_s), 2.0, kMostRuns) : 0;
  return CommandToAdd(path, static_cast<uint32_t>(runs), session);
}

// Of the most visited point.
void AddLength(const AnalyzedProfile& profile, const std::string& path,
               std::vector<Finding>* findings) {
  if (profile.analysis.points.empty()) return;
  const PointAnalysis& point = profile.analysis.points.front();
  const Lacking lacking = FindLacking(profile, point);
  const double run_s = static_cast<double>(profile.table.run_time_ns) / 1e9;
  const std::string verdicts =
      absl::StrCat(Counted(lacking.decided, "line"), lacking.decided == 1 ? " has" : " have",
                   " a verdict after ", absl::StrFormat("%.0f s", run_s));
  if (lacking.undecided == 0) {
    findings->push_back({Grade::kGood, "verdicts", verdicts, ""});
    return;
  }
  const std::string what =
      absl::StrCat(verdicts, "; ", Counted(lacking.undecided, "line"), " with ",
                   Percent(lacking.undecided_share), " of the samples ",
                   lacking.undecided == 1 ? "has" : "have", " none");
  if (lacking.more_s == 0) {
    findings->push_back({Grade::kWarning, "verdicts",
                         absl::StrCat(what, ", and a longer run would not tell"),
                         "mend what the other findings name, and profile again"});
    return;
  }
  // For all of them a program may have to run for days; the first is worth a run of its own.
  constexpr double kLongS = 3600;
  const bool is_long = lacking.more_s > kLongS && lacking.first_s < lacking.more_s;
  const std::string first =
      is_long ? absl::StrCat(" for all, ", InWords(lacking.first_s), " for the first of them") : "";
  findings->push_back(
      {Grade::kWarning, "length",
       absl::StrCat(what, ": too short by about ", InWords(lacking.more_s), first,
                    lacking.some_never ? " for those that a longer run can tell" : ""),
       absl::StrCat("to add to it: ",
                    CommandToAddSeconds(is_long ? lacking.first_s : lacking.more_s, path,
                                        profile.profile))});
}

}  // namespace

std::vector<Finding> FindingsOfProfile(const AnalyzedProfile& profile, const std::string& path) {
  std::vector<Finding> findings;
  const auto nothing = FindNothingMeasured(profile.profile, profile.table, profile.analysis);
  if (nothing.has_value()) {
    findings.push_back({Grade::kProblem, "figures", absl::StrCat("there are none: ", nothing->what),
                        nothing->remedy});
  } else {
    AddLength(profile, path, &findings);
    AddPoints(profile.table, &findings);
    AddVisits(profile, &findings);
    AddSamples(profile, &findings);
  }
  AddDebugInfo(profile.profile, &findings);
  for (const std::string& note :
       ReportNotes(profile.profile, profile.table, profile.analysis, profile.stats)) {
    findings.push_back(FindingOfNote("run", note));
  }
  for (Finding& finding : findings) {
    finding.remedy = WithItsCommand(finding.remedy, profile.profile);
  }
  const bool is_good = std::all_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.grade == Grade::kGood;
  });
  if (is_good) findings.push_back({Grade::kGood, "run", "nothing went wrong in it", ""});
  return findings;
}

}  // namespace coz::report
