#include "coz/report/report_notes.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "coz/report/analysis.h"
#include "coz/report/experiment_table.h"
#include "coz/report/profile.pb.h"
#include "coz/report/profile_reader.h"
#include "coz/report/text_layout.h"

namespace coz {
namespace {

std::string Counted(uint64_t n, absl::string_view noun) {
  return absl::StrCat(n, " ", noun, n == 1 ? "" : "s");
}

absl::string_view TaintName(int reason) {
  switch (reason) {
    case profile::Taint::OWED_DELAY:
      return "delay still owed at the end";
    case profile::Taint::LOST_SAMPLES:
      return "samples lost";
    case profile::Taint::SPEEDUP_MISSED:
      return "virtual speedup not reached";
    case profile::Taint::CUT_SHORT:
      return "cut short";
    case profile::Taint::OVERCOMMITTED:
      return "more runnable threads than CPUs";
    case profile::Taint::SUSPENDED:
      return "suspended";
    case profile::Taint::PROCESS_CHANGED:
      return "process changed";
    default:
      return "other reasons";
  }
}

// How each session ended, where that is not the ordinary end.
void AddEnds(const profile::Profile& profile, std::vector<std::string>* notes) {
  absl::flat_hash_map<uint64_t, const profile::SessionEnd*> ends;
  for (const profile::SessionEnd& end : profile.session_end()) ends[end.session()] = &end;
  int open = 0;
  for (const profile::Session& session : profile.session()) {
    const auto it = ends.find(session.id());
    if (it == ends.end()) {
      ++open;
    } else if (it->second->reason() == profile::END_REASON_SUPERVISOR_ERROR) {
      notes->push_back(absl::StrCat("coz stopped on an error: ", it->second->error()));
    } else if (it->second->exit_signal() != 0) {
      notes->push_back(absl::StrCat("the program was ended by signal ", it->second->exit_signal()));
    } else if (it->second->exit_status() != 0) {
      notes->push_back(
          absl::StrCat("the program ended with exit status ", it->second->exit_status()));
    }
  }
  if (open > 0) {
    notes->push_back(absl::StrCat(Counted(static_cast<uint64_t>(open), "session"),
                                  " without an end: cut short, or still running"));
  }
}

void AddTaints(const Analysis& analysis, std::vector<std::string>* notes) {
  if (analysis.tainted == 0) return;
  std::vector<std::string> reasons;
  for (int i = 0; i < profile::Taint::Reason_ARRAYSIZE; ++i) {
    if (analysis.taints_by_reason[i] > 0) {
      reasons.push_back(absl::StrCat(analysis.taints_by_reason[i], " ", TaintName(i)));
    }
  }
  notes->push_back(absl::StrCat(Counted(static_cast<uint64_t>(analysis.tainted), "experiment"),
                                " not used: ", absl::StrJoin(reasons, ", ")));
}

// More runnable threads than CPUs: a paused thread then only makes room for another.
void AddOversubscribed(const profile::Profile& profile, std::vector<std::string>* notes) {
  int crowded = 0;
  double runnable = 0;
  for (const profile::Experiment& experiment : profile.experiment()) {
    const profile::Validity& validity = experiment.validity();
    // Half a thread of tolerance: the coz command itself runs now and then.
    if (validity.runnable_threads_average() <= validity.cpus() + 0.5) continue;
    ++crowded;
    runnable += validity.runnable_threads_average();
  }
  if (crowded * 5 < profile.experiment_size() || crowded == 0) return;
  notes->push_back(absl::StrFormat(
      "in %d of %d experiments more threads were runnable (%.1f on average) than there are CPUs, "
      "so effects may look smaller or "
      "less certain than they are; leave the machine idle, or give the program fewer threads",
      crowded, profile.experiment_size(), runnable / crowded));
}

}  // namespace

std::vector<std::string> ReportNotes(const profile::Profile& profile, const ExperimentTable& table,
                                     const Analysis& analysis, const ReadStats& stats) {
  std::vector<std::string> notes = stats.Notes();
  for (const profile::Session& session : profile.session()) {
    const std::string& reason = session.fallback_reason();
    if (!reason.empty() && std::find(notes.begin(), notes.end(), reason) == notes.end()) {
      notes.push_back(reason);
    }
  }
  for (const profile::Binary& binary : profile.binary()) {
    for (const std::string& skipped : binary.debug_info_skipped()) {
      notes.push_back(absl::StrCat(Printable(binary.path()), ": ", skipped));
    }
  }
  AddEnds(profile, &notes);
  AddTaints(analysis, &notes);
  AddOversubscribed(profile, &notes);
  if (table.orphans > 0) {
    notes.push_back(absl::StrCat(Counted(table.orphans, "count"),
                                 " without a name, as records before were lost"));
  }
  if (table.invalid > 0) {
    notes.push_back(
        absl::StrCat(Counted(table.invalid, "experiment"), " not used: impossible figures"));
  }
  if (table.duplicates > 0) {
    notes.push_back(
        absl::StrCat(Counted(table.duplicates, "experiment"),
                     " found twice and used once: the file was merged with a copy of itself"));
  }
  return notes;
}

}  // namespace coz
