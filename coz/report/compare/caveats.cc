#include "coz/report/compare/caveats.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/report/format/program_identity.h"
#include "coz/report/wording/baseline_use.h"
#include "coz/report/wording/nothing_measured.h"
#include "coz/report/wording/repeat_command.h"
#include "coz/report/wording/surroundings.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

// Of the CPU time, from which on coz/report/wording/surroundings.cc notes it.
constexpr double kMuchStolen = 0.05;
constexpr double kMuchThrottled = 0.02;
constexpr size_t kDigitsOfBuildId = 12;

void AddCaveatsOf(const char* which, const AnalyzedProfile& whole,
                  std::vector<std::string>* caveats) {
  for (const std::string& note : whole.stats.Notes()) {
    caveats->push_back(absl::StrCat("of the ", which, " profile: ", note));
  }
  if (const size_t programs = ProgramsOf(whole.profile).size(); programs > 1) {
    caveats->push_back(absl::StrFormat(
        "the %s profile has sessions of %d programs, or builds of one, and their figures are added "
        "up as if they were of one",
        which, programs));
  }
  if (const std::optional<NothingMeasured> nothing =
          FindNothingMeasured(whole.profile, whole.table, whole.analysis)) {
    caveats->push_back(
        absl::StrCat("nothing was measured in the ", which, " profile: ", nothing->what));
  }
  const BaselineUse use = SumBaselines(whole.profile, whole.table);
  if (use.ThrottledShare() >= kMuchThrottled) {
    caveats->push_back(absl::StrFormat(
        "in the %s profile a CPU quota was used up in %.0f %% of its periods, so its times are "
        "those below this quota",
        which, 100 * use.ThrottledShare()));
  }
  if (use.StolenShare() >= kMuchStolen) {
    caveats->push_back(absl::StrFormat(
        "in the %s profile the host of the virtual machine kept %.0f %% of the CPU time for itself "
        "or others (steal)",
        which, 100 * use.StolenShare()));
  }
}

// "2", "1 or 2"; "" where it is not known.
std::string CpusOf(const profile::Profile& profile) {
  std::set<uint32_t> counts;
  for (const profile::Session& session : profile.session()) {
    if (session.machine().cpu_count() != 0) counts.insert(session.machine().cpu_count());
  }
  return absl::StrJoin(counts, " or ");
}

std::string ModelsOf(const profile::Profile& profile) {
  std::set<std::string> models;
  for (const profile::Session& session : profile.session()) {
    if (!session.machine().cpu_model().empty()) models.insert(session.machine().cpu_model());
  }
  return absl::StrJoin(models, ", ");
}

std::string QuotasOf(const profile::Profile& profile) {
  std::set<std::string> quotas;
  for (const profile::Session& session : profile.session()) {
    if (session.machine().cpu_count() == 0) continue;  // imported: nothing is known of the machine
    const double quota = session.machine().cpu_quota();
    quotas.insert(quota > 0 ? absl::StrFormat("a quota of %.4g CPUs", quota) : "no CPU quota");
  }
  return absl::StrJoin(quotas, " or ");
}

void AddDifferentMachines(const profile::Profile& before, const profile::Profile& after,
                          std::vector<std::string>* caveats) {
  const std::pair<std::string, std::string> cpus = {CpusOf(before), CpusOf(after)};
  if (cpus.first != cpus.second && !cpus.first.empty() && !cpus.second.empty()) {
    caveats->push_back(absl::StrCat(
        "the number of CPUs that the program could use was ", cpus.first,
        " in the first profile and ", cpus.second,
        " in the second, so their times differ for that alone; profile both on as many"));
  }
  const std::pair<std::string, std::string> models = {ModelsOf(before), ModelsOf(after)};
  if (models.first != models.second && !models.first.empty() && !models.second.empty()) {
    caveats->push_back(absl::StrCat("the first profile was made on ", Printable(models.first),
                                    " and the second on ", Printable(models.second),
                                    ", so their times differ for that alone"));
  }
  const std::pair<std::string, std::string> quotas = {QuotasOf(before), QuotasOf(after)};
  if (quotas.first != quotas.second && !quotas.first.empty() && !quotas.second.empty()) {
    caveats->push_back(absl::StrCat("the program had ", quotas.first, " in the first profile and ",
                                    quotas.second,
                                    " in the second, so their times differ for that alone"));
  }
}

// "62 % in the second profile"; "" where other programs were no hindrance.
std::string OthersIn(const char* which, const AnalyzedProfile& whole) {
  const BaselineUse use = SumBaselines(whole.profile, whole.table);
  if (!OthersCrowd(use)) return "";
  return absl::StrFormat("%.0f %% in the %s profile", 100 * use.OthersShare(), which);
}

// "`coz run --- ./old`, `coz run --- ./new`"; one where they are the same.
std::string CommandsAgain(const AnalyzedProfile& before, const AnalyzedProfile& after) {
  std::vector<std::string> commands;
  for (const AnalyzedProfile* whole : {&before, &after}) {
    if (whole->profile.session_size() == 0) continue;
    std::string command = absl::StrCat("`", CommandAgain(*whole->profile.session().rbegin()), "`");
    if (commands.empty() || commands.back() != command) commands.push_back(std::move(command));
  }
  return absl::StrJoin(commands, ", ");
}

}  // namespace

// A library may have changed, which is not asked for: programs load many.
std::string WhichBuildBothAreOf(const AnalyzedProfile& before, const AnalyzedProfile& after) {
  const std::vector<ProgramIdentity> was = ProgramsOf(before.profile);
  const std::vector<ProgramIdentity> is = ProgramsOf(after.profile);
  const bool is_one = was.size() == 1 && is.size() == 1 && !was.front().build_id.empty() &&
                      was.front().build_id == is.front().build_id;
  if (!is_one) return "";
  const std::string& path = is.front().path;
  return absl::StrCat(
      "both profiles are of the same build of ", Printable(path.substr(path.rfind('/') + 1)),
      " (build-id ", absl::BytesToHexString(is.front().build_id).substr(0, kDigitsOfBuildId),
      "), so what differs is its input, what it loads, its surroundings, or chance");
}

std::vector<std::string> Caveats(const AnalyzedProfile& before, const AnalyzedProfile& after) {
  std::vector<std::string> caveats;
  AddCaveatsOf("first", before, &caveats);
  AddCaveatsOf("second", after, &caveats);
  if (std::string same = WhichBuildBothAreOf(before, after); !same.empty()) {
    caveats.push_back(std::move(same));
  }
  AddDifferentMachines(before.profile, after.profile, &caveats);
  return caveats;
}

std::string NoteOnOthers(const AnalyzedProfile& before, const AnalyzedProfile& after) {
  std::vector<std::string> shares = {OthersIn("first", before), OthersIn("second", after)};
  shares.erase(std::remove(shares.begin(), shares.end(), ""), shares.end());
  if (shares.empty()) return "";
  return absl::StrCat("other programs used ", absl::StrJoin(shares, " and "),
                      " of the time of the program's CPUs, so what happened may be their doing; "
                      "leave the machine idle, and profile both again, each into a file of its "
                      "own (-o FILE): ",
                      CommandsAgain(before, after));
}

}  // namespace coz::report
