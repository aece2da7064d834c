#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Validators.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coz/base/command_name.h"
#include "coz/base/file_text.h"
#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/doctor/finding.h"
#include "coz/report/doctor/profile_findings.h"
#include "coz/report/report.h"
#include "coz/report/wording/text_layout.h"
#include "coz/sourcemap/binary_info.h"
#include "coz/supervisor/doctor/machine_facts.h"
#include "coz/supervisor/doctor/machine_findings.h"
#include "coz/supervisor/doctor/program_facts.h"
#include "coz/supervisor/doctor/program_findings.h"
#include "coz/supervisor/target/attached_process.h"
#include "coz/supervisor/target/running_session.h"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"
#include "tools/process_entry.h"

namespace coz {
namespace {

struct DoctorArguments {
  // A program with its arguments, or a profile; empty: the machine alone.
  std::vector<std::string> words;
  pid_t pid = 0;  // instead of them: of a process that runs
  bool json = false;
};

// A profile has no other mark than its name, and that it is one; programs have many.
bool IsProfile(const std::string& path) {
  std::error_code error;
  // No program has such a name, so a profile was meant, and reading says that there is none.
  if (absl::EndsWith(path, ".pb") && !std::filesystem::exists(path, error)) return true;
  // A pipe would have to be waited for.
  if (!std::filesystem::is_regular_file(path, error) || access(path.c_str(), R_OK) != 0) {
    return false;
  }
  const auto info = sourcemap::DescribeBinary(path);
  return info.ok() && info->kind == sourcemap::BinaryInfo::Kind::kOther &&
         (absl::EndsWith(path, ".pb") || report::ReadAndAnalyze(path).ok());
}

absl::StatusOr<report::FindingGroup> LookAtProfile(const std::string& path) {
  const auto profile = report::ReadAndAnalyze(path);
  if (!profile.ok()) return profile.status();
  return report::FindingGroup{absl::StrCat("The profile ", path),
                              report::FindingsOfProfile(**profile, path)};
}

// `pid`: of the process that runs it; 0: none is meant.
absl::StatusOr<report::FindingGroup> LookAtNamedProgram(const std::string& name, pid_t pid = 0) {
  auto facts = supervisor::LookAtProgram(name);
  if (!facts.ok()) return facts.status();
  facts->pid = pid;
  return report::FindingGroup{absl::StrCat("The program ", name),
                              supervisor::FindingsOfProgram(*facts)};
}

report::FindingGroup LookAtThisMachine() {
  return {"This machine", supervisor::FindingsOfMachine(supervisor::LookAtMachine())};
}

// The process itself is one of those that use the CPUs.
void LeaveOut(const char* subject, report::FindingGroup* group) {
  const auto is_it = [subject](const report::Finding& finding) {
    return finding.subject == subject;
  };
  group->findings.erase(std::remove_if(group->findings.begin(), group->findings.end(), is_it),
                        group->findings.end());
}

// Commands are named as this one was started.
void NameCommands(std::vector<report::FindingGroup>* groups) {
  for (report::FindingGroup& group : *groups) {
    for (report::Finding& finding : group.findings) {
      // A remedy may be a command as a whole.
      constexpr char kAnnounced[] = ": ";
      finding.remedy = WithCommandName(kAnnounced + finding.remedy).substr(sizeof(kAnnounced) - 1);
    }
  }
}

bool LacksPoints(const std::vector<report::FindingGroup>& groups) {
  for (const report::FindingGroup& group : groups) {
    for (const report::Finding& finding : group.findings) {
      if (finding.subject == "points" && finding.grade != report::Grade::kGood) return true;
    }
  }
  return false;
}

// Of a process that could be attached to: whether a coz is there.
report::Finding WhetherFree(pid_t pid, const std::string& program) {
  if (supervisor::FindSession(pid).ok()) {
    return {report::Grade::kProblem, "attach", "a session of coz profiles it",
            "end that first; see: pgrep -a coz"};
  }
  if (absl::StrContains(FileText(absl::StrFormat("/proc/%d/environ", pid)), "/libcoz.so")) {
    return {report::Grade::kProblem, "attach",
            "it was started by coz run or coz points, which cannot be joined",
            "start it without coz"};
  }
  return {report::Grade::kGood, "attach", absl::StrCat("coz can attach to it; it runs ", program),
          ""};
}

// Nothing in the process changes. Its container has been entered.
absl::StatusOr<std::vector<report::FindingGroup>> LookAtProcess(pid_t pid) {
  absl::StatusOr<std::string> library =
      FindProductFile("coz/runtime/libcoz.so", "lib/coz/libcoz.so");
  if (!library.ok()) return library.status();
  report::FindingGroup process = {absl::StrCat("The process ", pid), {}};
  pid_t inside = pid;
  if (IsElsewhere(pid, *library)) {
    const absl::StatusOr<pid_t> entered = GoWhereProcessIs(
        pid, absl::StrFormat("coz: the container of process %d has ended", pid), &*library);
    if (!entered.ok()) return entered.status();
    inside = *entered;
  }
  const auto program = supervisor::FindRunningProgram(inside, *library);
  if (!program.ok()) {
    process.findings.push_back(report::FindingOfNote("attach", program.status().message()));
    process.findings.back().grade = report::Grade::kProblem;
    return std::vector<report::FindingGroup>{std::move(process)};
  }
  process.findings.push_back(WhetherFree(inside, program->path));
  absl::StatusOr<report::FindingGroup> its_program = LookAtNamedProgram(program->path, pid);
  if (!its_program.ok()) return its_program.status();
  return std::vector<report::FindingGroup>{std::move(process), *std::move(its_program)};
}

// What to do next, where nothing stands in the way.
std::string NextStep(const DoctorArguments& arguments,
                     const std::vector<report::FindingGroup>& groups) {
  if (arguments.pid != 0) {
    return WithCommandName(absl::StrCat(
        LacksPoints(groups) ? "\nNothing but the points is missing. Next: coz points --pid="
                            : "\nNothing stands in the way. Next: coz attach ",
        arguments.pid, "\n"));
  }
  if (arguments.words.empty()) {
    return WithCommandName("\nNothing stands in the way. Next: coz doctor ./program\n");
  }
  const std::string program = report::Quoted(arguments.words.front());
  return WithCommandName(
      LacksPoints(groups)
          ? absl::StrCat("\nNothing but the points is missing. Next: coz points --- ", program,
                         " …\n")
          : absl::StrCat("\nNothing stands in the way. Next: coz run --- ", program, " …\n"));
}

absl::StatusOr<std::vector<report::FindingGroup>> Look(const DoctorArguments& arguments,
                                                       bool is_profile) {
  std::vector<report::FindingGroup> groups;
  if (is_profile) {
    auto group = LookAtProfile(arguments.words.front());
    if (!group.ok()) return group.status();
    groups.push_back(*std::move(group));
    return groups;
  }
  if (arguments.pid != 0) {
    auto its_groups = LookAtProcess(arguments.pid);
    if (!its_groups.ok()) return its_groups.status();
    groups = *std::move(its_groups);
  } else if (!arguments.words.empty()) {
    auto group = LookAtNamedProgram(arguments.words.front());
    if (!group.ok()) return group.status();
    groups.push_back(*std::move(group));
  }
  groups.push_back(LookAtThisMachine());
  if (arguments.pid != 0) LeaveOut("neighbours", &groups.back());
  return groups;
}

// Behind a program, words are its own; a profile has none.
absl::Status TakeOptionsBehindProfile(DoctorArguments* arguments) {
  for (size_t i = 1; i < arguments->words.size(); ++i) {
    const std::string& word = arguments->words[i];
    if (word != "--json") {
      return absl::InvalidArgumentError(
          absl::StrFormat("coz doctor has no use for %s behind the profile %s; look with: coz "
                          "doctor --help",
                          report::Printable(word), report::Printable(arguments->words.front())));
    }
    arguments->json = true;
  }
  return absl::OkStatus();
}

void Execute(DoctorArguments arguments, int* exit_status) {
  if (arguments.pid != 0 && !arguments.words.empty()) {
    *exit_status = ReportUsage(absl::InvalidArgumentError(
        "--pid names a process that runs already; leave the program out"));
    return;
  }
  const bool is_profile = !arguments.words.empty() && IsProfile(arguments.words.front());
  if (is_profile) {
    if (absl::Status status = TakeOptionsBehindProfile(&arguments); !status.ok()) {
      *exit_status = ReportUsage(status);
      return;
    }
  }
  auto groups = Look(arguments, is_profile);
  if (!groups.ok()) {
    *exit_status = Report(groups.status());
    return;
  }
  NameCommands(&*groups);
  if (report::HasProblem(*groups)) *exit_status = kConditionHolds;
  if (arguments.json) {
    std::cout << report::FindingsJson(*groups).dump(2) << "\n";
    return;
  }
  report::TextOptions text;
  report::FitTerminal(STDOUT_FILENO, &text);
  std::cout << report::FindingsText(*groups, text.width);
  if (!is_profile && !report::HasProblem(*groups)) std::cout << NextStep(arguments, *groups);
}

}  // namespace

void AddDoctorCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand(
      "doctor", "say what this machine and a program allow, or why a profile is poor");
  auto arguments = std::make_shared<DoctorArguments>();
  command
      ->add_option("program", arguments->words,
                   "a program, which is not run, or a profile (default: the machine alone)")
      ->type_name("");
  command
      ->add_option("--pid", arguments->pid,
                   "a process that runs: whether coz can attach to it, and its program")
      ->check(CLI::PositiveNumber)
      ->type_name("PID");
  command->add_flag("--json", arguments->json, "print JSON, as described in docs/doctor.md");
  SetExamples(command, {{"doctor", "what this machine allows, and the fixes to type"},
                        {"doctor ./server", "what can be known of a program"},
                        {"doctor --pid $(pgrep -o server)", "the same of one that runs"},
                        {"doctor profile.pb", "why a profile is poor"}});
  command->callback([arguments, exit_status] { Execute(*arguments, exit_status); });
}

}  // namespace coz
