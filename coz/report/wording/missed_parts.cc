#include "coz/report/wording/missed_parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/report/wording/text_layout.h"

namespace coz::report {
namespace {

std::string Times(uint64_t count) { return count == 1 ? "once" : absl::StrCat(count, " times"); }

void AddBrokenUnwinds(uint64_t broken, uint64_t samples, std::vector<std::string>* notes) {
  constexpr double kWorthSaying = 0.05;
  const double share =
      samples == 0 ? 0 : static_cast<double>(broken) / static_cast<double>(samples);
  if (share < kWorthSaying) return;
  notes->push_back(absl::StrFormat(
      "the callers of %.0f %% of the samples could not be followed to a line of yours, as code on "
      "the way has no call frame information, so lines that call it look cheaper than they are; "
      "build that code with -fasynchronous-unwind-tables, or try `coz run --unwinder=libunwind`",
      100 * share));
}

// What is counted by changed code or breakpoints in libraries.
std::set<std::string> PlacesInLibraries(const profile::Profile& profile) {
  std::set<std::string> places;
  const auto add = [&places](const std::string& name) {
    if (absl::StrContains(name, "!")) places.insert(Printable(name));
  };
  for (const profile::ProgressPoint& point : profile.progress_point()) add(point.name());
  for (const profile::ThreadCounter& counter : profile.thread_counter()) add(counter.name());
  for (const profile::Session& session : profile.session()) {
    for (const std::string& api : session.options().api()) places.insert(Printable(api));
  }
  return places;
}

// Visits until the library is found anew are missed.
void AddUnloads(const profile::Profile& profile, uint64_t unloads,
                std::vector<std::string>* notes) {
  const std::set<std::string> places = PlacesInLibraries(profile);
  if (unloads == 0 || places.empty()) return;
  constexpr size_t kMostSaid = 3;
  const std::vector<std::string> said(
      places.begin(),
      std::next(places.begin(), static_cast<ptrdiff_t>(std::min(kMostSaid, places.size()))));
  notes->push_back(absl::StrCat(
      "libraries were unloaded ", Times(unloads),
      ", and visits in one are missed for the first twentieth of a second after it is loaded, so ",
      absl::StrJoin(said, ", "), places.size() > kMostSaid ? ", …" : "",
      " may have had more; put COZ_PROGRESS in its source, or keep it loaded, as dlopen with "
      "RTLD_NODELETE does"));
}

}  // namespace

std::vector<std::string> NotesOfMissedParts(const profile::Profile& profile) {
  profile::SessionEnd sum;
  for (const profile::SessionEnd& end : profile.session_end()) {
    sum.set_total_samples(sum.total_samples() + end.total_samples());
    sum.set_broken_unwinds(sum.broken_unwinds() + end.broken_unwinds());
    sum.set_threads_without_slot(sum.threads_without_slot() + end.threads_without_slot());
    sum.set_points_without_slot(sum.points_without_slot() + end.points_without_slot());
    sum.set_modules_without_slot(sum.modules_without_slot() + end.modules_without_slot());
    sum.set_paths_without_slot(sum.paths_without_slot() + end.paths_without_slot());
    sum.set_libraries_unloaded(sum.libraries_unloaded() + end.libraries_unloaded());
    sum.set_processes_replaced(sum.processes_replaced() + end.processes_replaced());
  }
  std::vector<std::string> notes;
  AddBrokenUnwinds(sum.broken_unwinds(), sum.total_samples(), &notes);
  AddUnloads(profile, sum.libraries_unloaded(), &notes);
  if (sum.processes_replaced() > 0) {
    notes.push_back(absl::StrCat(Counted(sum.processes_replaced(), "process"),
                                 sum.processes_replaced() == 1
                                     ? " became another program by exec, and was"
                                     : " became other programs by exec, and were",
                                 " profiled only until then; attach again to have the rest"));
  }
  if (sum.threads_without_slot() > 0) {
    notes.push_back(absl::StrCat(
        "a thread found all places for threads taken, ", Times(sum.threads_without_slot()),
        "; such threads are neither sampled nor paused and their visits are not counted, so all "
        "effects may be wrong; give the program fewer threads, or profile fewer of its processes "
        "with `coz run --follow=none`"));
  }
  if (sum.points_without_slot() > 0) {
    notes.push_back(absl::StrCat(
        "a progress point, or a library's function and its caller (--api), found all places for "
        "points taken, ",
        Times(sum.points_without_slot()),
        ", and its visits are not counted there; give points that count the same the same name, or "
        "name fewer functions with --api"));
  }
  if (sum.modules_without_slot() > 0) {
    notes.push_back(absl::StrCat(
        "a program or library found all places for files taken, ",
        Times(sum.modules_without_slot()),
        ", and samples in it count for no line; each file takes one of 256, and so does each later "
        "version or copy of it; name fewer programs to profile, as with `coz run --follow=none`, "
        "or profile for a shorter time"));
  }
  if (sum.paths_without_slot() > 0) {
    notes.push_back(absl::StrCat(
        Counted(sum.paths_without_slot(), "sample"),
        " found all places for call paths taken and count for none, so effects look smaller than "
        "they are; tell fewer paths apart, with a lower `--callers` or a narrower "
        "`--source-scope`"));
  }
  return notes;
}

}  // namespace coz::report
