#include "tools/report_output.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coz/report/report.h"
#include "tools/command_line.h"

namespace coz {
namespace {

constexpr int kHeadLines = 10;

// Why there is no experiment.
std::string WhyNothing(const supervisor::RunResult& result) {
  if (!result.runtime_attached) {
    return "the program was not profiled, for it did not load the preload library; is it setuid, "
           "or does something clear "
           "LD_PRELOAD before it starts? Look with: LD_DEBUG=files PROGRAM";
  }
  if (!result.missing_unit.empty()) {
    return absl::StrFormat(
        "no experiment was made, for no binary in scope that was loaded has code of %s; name "
        "another, or widen --binary-scope and --source-scope",
        result.missing_unit);
  }
  const bool by_points = !result.end_to_end;
  if (by_points && !result.visited_points && result.points.empty()) {
    return "no experiment was made, for the program has no progress point; put COZ_PROGRESS; (of "
           "coz.h) where a unit of work is "
           "done, or measure the whole run with: coz run --end-to-end --- PROGRAM";
  }
  if (by_points && !result.visited_points) {
    return absl::StrCat(
        "no experiment was made, for no progress point was visited; the program has ",
        absl::StrJoin(result.points, ", "), "; give it work that reaches one, or add another");
  }
  if (!result.sampled) {
    return "no experiment was made, for no sample was taken; the program hardly used the CPU, or "
           "ended too soon: give it more work";
  }
  if (!result.sampled_in_scope) {
    return "no experiment was made, for no sample fell in a line in scope; widen the scope with "
           "--source-scope=% or "
           "--binary-scope=%";
  }
  if (result.end_to_end) {
    return "no experiment was made, for the run ended before its line was chosen, by the samples "
           "of "
           "its first 0.1 s; run it again and again with --repeat=40, or name a line with "
           "--fixed-line=FILE:LINE";
  }
  return "no experiment was finished; let the program run for some seconds at least, or try "
         "--experiment-length=0.1";
}

// "1 process was", "2 processes were".
std::string ProcessesWere(uint32_t count) {
  return count == 1 ? "1 process was" : absl::StrCat(count, " processes were");
}

// Processes that are not, or not wholly, in the profile.
void PrintProcesses(const supervisor::RunResult& result) {
  if (result.processes_left > 0) {
    absl::FPrintF(stderr,
                  "coz: the program has ended; %s left running, not profiled from here on; to "
                  "profile to the end: coz run --daemon\n",
                  ProcessesWere(result.processes_left));
  }
  if (result.processes_unprofiled > 0) {
    absl::FPrintF(
        stderr,
        "coz: %s not profiled, as more than %d ran at a time or the system refused to sample "
        "them; look at: ulimit -n\n",
        ProcessesWere(result.processes_unprofiled), shared::kMaxProcesses);
  }
  if (result.programs_unreachable) {
    absl::FPrintF(stderr,
                  "coz: programs were not profiled that a process started after it had changed its "
                  "user, root folder or mounts, as the profiler cannot be reached from there; to "
                  "have them in the report, run coz itself as that user, or there\n");
  }
  if (result.processes_unfollowed > 0) {
    absl::FPrintF(
        stderr,
        "coz: %s not profiled, for which the program called clone() itself to share memory or "
        "descriptors; that is nobody's work in the report: to have it there, call fork() or "
        "posix_spawn()\n",
        ProcessesWere(result.processes_unfollowed));
  }
}

}  // namespace

void PrintRunSummary(const supervisor::RunResult& result, FILE* output) {
  if (!result.profile_status.ok()) Report(result.profile_status);
  PrintProcesses(result);
  if (result.profile.experiment_size() == 0) {
    absl::FPrintF(stderr, "coz: %s\n", WhyNothing(result));
    return;
  }
  report::ReportOptions options;
  options.path = result.profile_path;
  options.header = false;
  report::FitTerminal(fileno(output), &options.text);
  options.text.max_lines = kHeadLines;
  std::ostringstream text;
  const absl::Status status = report::RunReport(options, text);
  if (!status.ok()) {
    Report(status);
    return;
  }
  absl::FPrintF(output, "%s\nThe profile is in %s. For all of it: coz report %s\n", text.str(),
                result.profile_path, result.profile_path);
}

}  // namespace coz
