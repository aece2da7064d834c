#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coz/base/command_name.h"
#include "coz/report/analysis/analyzed_profile.h"
#include "coz/report/analysis/session_facts.h"
#include "coz/report/doctor/finding.h"
#include "coz/report/doctor/profile_findings.h"
#include "coz/report/report.h"
#include "coz/sourcemap/binary_info.h"
#include "coz/supervisor/doctor/machine_facts.h"
#include "coz/supervisor/doctor/machine_findings.h"
#include "coz/supervisor/doctor/program_facts.h"
#include "coz/supervisor/doctor/program_findings.h"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"

namespace coz {
namespace {

struct DoctorArguments {
  // A program with its arguments, or a profile; empty: the machine alone.
  std::vector<std::string> words;
  bool json = false;
};

// A profile has no other mark than its name, and that it is one; programs have many.
bool IsProfile(const std::string& path) {
  std::error_code error;
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

absl::StatusOr<report::FindingGroup> LookAtNamedProgram(const std::string& name) {
  const auto facts = supervisor::LookAtProgram(name);
  if (!facts.ok()) return facts.status();
  return report::FindingGroup{absl::StrCat("The program ", name),
                              supervisor::FindingsOfProgram(*facts)};
}

report::FindingGroup LookAtThisMachine() {
  return {"This machine", supervisor::FindingsOfMachine(supervisor::LookAtMachine())};
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

// What to do next, where nothing stands in the way.
std::string NextStep(const DoctorArguments& arguments,
                     const std::vector<report::FindingGroup>& groups) {
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
  if (!arguments.words.empty()) {
    auto group = LookAtNamedProgram(arguments.words.front());
    if (!group.ok()) return group.status();
    groups.push_back(*std::move(group));
  }
  groups.push_back(LookAtThisMachine());
  return groups;
}

void Execute(const DoctorArguments& arguments, int* exit_status) {
  const bool is_profile = !arguments.words.empty() && IsProfile(arguments.words.front());
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
  command->add_flag("--json", arguments->json, "print JSON, as described in docs/doctor.md");
  SetExamples(command, {{"doctor", "what this machine allows, and the fixes to type"},
                        {"doctor ./server", "what can be known of a program"},
                        {"doctor profile.pb", "why a profile is poor"}});
  command->callback([arguments, exit_status] { Execute(*arguments, exit_status); });
}

}  // namespace coz
