#include "coz/report/wording/missed_parts.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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
    sum.set_processes_replaced(sum.processes_replaced() + end.processes_replaced());
  }
  std::vector<std::string> notes;
  AddBrokenUnwinds(sum.broken_unwinds(), sum.total_samples(), &notes);
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
        ", and samples in it count for no line; name fewer programs to profile, as with "
        "`coz run --follow=none`"));
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
