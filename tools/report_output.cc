#include "tools/report_output.h"

#include <sstream>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/command_name.h"
#include "coz/report/analysis/programs_run.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/report.h"
#include "coz/report/wording/nothing_measured.h"
#include "coz/report/wording/text_layout.h"
#include "coz/supervisor/doctor/program_facts.h"
#include "coz/supervisor/target/child_process.h"
#include "tools/command_line.h"

namespace coz {
namespace {

constexpr int kHeadLines = 10;

// For a run without an experiment. The result knows more than the profile, which has only counts.
report::MissingPart WhatIsMissing(const supervisor::RunResult& result) {
  if (!result.runtime_attached) return report::MissingPart::kRuntime;
  if (report::FailedEarly(result.profile)) return report::MissingPart::kSuccess;
  if (!result.missing_unit.empty()) return report::MissingPart::kUnit;
  if (!result.end_to_end && !result.visited_points) {
    return result.points.empty() ? report::MissingPart::kPoint : report::MissingPart::kVisit;
  }
  if (!result.sampled) return report::MissingPart::kSample;
  if (!result.sampled_in_scope && !result.not_shared.empty()) return report::MissingPart::kTable;
  if (!result.sampled_in_scope) return report::MissingPart::kSampleInScope;
  return result.end_to_end ? report::MissingPart::kChoice : report::MissingPart::kExperiment;
}

// The loader preloads nothing into such a program; empty: it is none.
std::string WhyNotPreloaded(const supervisor::RunResult& result) {
  if (result.profile.session().empty() || result.profile.session(0).command().empty()) return "";
  const std::string& word = result.profile.session(0).command(0);
  const absl::StatusOr<std::string> program = supervisor::FindProgram(word);
  if (!program.ok() || !supervisor::GainsRights(*program)) return "";
  return absl::StrFormat(
      "nothing was measured: %s gains rights when it is started (setuid, setgid or file "
      "capabilities), so the loader preloads nothing into it; profile a copy, as the user that it "
      "becomes: cp %s .",
      report::Printable(word), report::Quoted(*program));
}

std::string WhyNothing(const supervisor::RunResult& result) {
  if (!result.runtime_attached) {
    std::string rights = WhyNotPreloaded(result);
    if (!rights.empty()) return rights;
  }
  report::NothingContext context = report::ContextOf(result.profile);
  context.points = result.points;
  context.unit = result.missing_unit;
  context.binary = result.not_shared;
  context.why_no_table = result.why_not_shared;
  return report::OneSentence(report::Explain(WhatIsMissing(result), context));
}

// What is said of processes tells why points that are there were not visited.
bool DidItsWorkElsewhere(const supervisor::RunResult& result) {
  const bool is_told = result.processes_restricted > 0 || result.processes_elsewhere ||
                       result.programs_unreachable || result.programs_foreign;
  return is_told && WhatIsMissing(result) == report::MissingPart::kVisit;
}

// "1 process was", "2 processes were".
std::string ProcessesWere(uint32_t count) {
  return count == 1 ? "1 process was" : absl::StrCat(count, " processes were");
}

// Processes that are not, or not wholly, in the profile.
void PrintProcesses(const supervisor::RunResult& result) {
  if (result.processes_left > 0) {
    Say(absl::StrFormat(
        "the program has ended; %s left running, not profiled from here on; to profile to the "
        "end: %s",
        ProcessesWere(result.processes_left), ProfilingCommand("--daemon")));
  }
  if (result.processes_unprofiled > 0) {
    Say(absl::StrFormat(
        "%s not profiled, as more than %d ran at a time or the system refused to sample them; "
        "look at: ulimit -n",
        ProcessesWere(result.processes_unprofiled), shared::kMaxProcesses));
  }
  if (result.processes_restricted > 0) {
    Say(absl::StrFormat(
        "%s profiled only until system calls were limited there (by seccomp or "
        "PR_SET_SYSCALL_USER_DISPATCH), as from then on a call of the profiler might end the "
        "program; to have the rest in the report, run it without its sandbox",
        ProcessesWere(result.processes_restricted)));
  }
  if (result.programs_foreign) {
    Say("programs were not profiled that are of 32 bits, or whose loader is not of glibc 2.35 or "
        "later, as the profiler's library cannot be loaded into them; build them for this "
        "machine's "
        "glibc");
  }
  if (result.processes_elsewhere) {
    Say("processes were not profiled that run in a PID namespace of their own, as in a container "
        "or "
        "sandbox; to profile one, attach to it from here: coz attach PID");
  }
  if (result.programs_unreachable) {
    Say("programs were not profiled that a process started after it had changed its user, root "
        "folder or mounts, as the profiler cannot be reached from there; to have them in the "
        "report, run coz itself as that user, or there");
  }
  if (result.unpreloaded.pid != 0) Say(result.unpreloaded.Text());
  if (result.processes_unfollowed > 0) {
    Say(absl::StrFormat(
        "%s not profiled, for which the program called clone() itself to share memory or "
        "descriptors; that is nobody's work in the report: to have it there, call fork() or "
        "posix_spawn()",
        ProcessesWere(result.processes_unfollowed)));
  }
  if (result.threads_by_clone > 0) {
    Say(absl::StrFormat(
        "%s not profiled, which the program created by clone() itself; no sample of them counts, "
        "and no pause holds them: to have them in the report, call pthread_create()",
        result.threads_by_clone == 1 ? "1 thread was"
                                     : absl::StrCat(result.threads_by_clone, " threads were")));
  }
}

}  // namespace

void PrintRunSummary(const supervisor::RunResult& result, FILE* output) {
  PrintProcesses(result);
  const bool is_empty = result.profile.experiment_size() == 0;
  if (!result.profile_status.ok()) {
    Report(result.profile_status);
  } else if (is_empty && !result.why_is_said) {
    Say(DidItsWorkElsewhere(result)
            ? "nothing was measured, as the program did its work where it was not profiled"
            : WhyNothing(result));
  }
  if (is_empty) {
    if (result.earlier_came_back) {
      Say(absl::StrFormat(
          "%s is still the profile of an earlier run, as this one has no experiment",
          result.profile_path));
    }
    return;
  }
  // What was measured is not whole in the file: no figure of it is told.
  if (!result.profile_status.ok()) return;
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
  absl::FPrintF(output, "%s\nThe profile is in %s. For all of it: %s report %s\n", text.str(),
                result.profile_path, CommandName(), report::Quoted(result.profile_path));
  if (!result.earlier.last.empty()) {
    absl::FPrintF(output, "The one before is in %s; the last %d are kept.\n", result.earlier.last,
                  supervisor::kEarlierProfiles);
  }
}

}  // namespace coz
