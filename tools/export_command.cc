// coz export and coz import: profiles in the formats of other tools.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <vector>

#include "CLI/App.hpp"
#include "absl/strings/str_format.h"
#include "coz/report/exchange/export_coz.h"
#include "coz/report/exchange/export_csv.h"
#include "coz/report/exchange/export_jsonl.h"
#include "coz/report/exchange/export_pprof.h"
#include "coz/report/exchange/export_speedscope.h"
#include "coz/report/exchange/import_coz.h"
#include "coz/report/format/profile_reader.h"
#include "coz/supervisor/run/earlier_profiles.h"
#include "tools/command_line.h"
#include "tools/documentation/command_tree.h"
#include "tools/output_file.h"

namespace coz {
namespace {

struct ExportArguments {
  std::string path = "profile.pb";
  std::string format = "coz";
  std::string output;
};

void SayNotes(const std::string& path, const report::ReadStats& stats) {
  for (const std::string& note : stats.Notes()) {
    Say(absl::StrFormat("note: %s: %s", path == "-" ? "standard input" : path, note));
  }
}

// Record by record, as the profile of a fleet may be large.
absl::Status ExportExperiments(const ExportArguments& arguments) {
  return WriteOutput(arguments.output, /*is_binary=*/false, [&](std::ostream& out) {
    report::JsonLinesExporter exporter(&out);
    report::ReadStats stats;
    absl::Status status = report::ReadRecordsOf(
        arguments.path, &stats, [&](const profile::Profile& record) { exporter.Add(record); });
    SayNotes(arguments.path, stats);
    return status;
  });
}

absl::Status Export(const ExportArguments& arguments) {
  if (arguments.format == "jsonl") return ExportExperiments(arguments);
  const auto whole = report::ReadAndAnalyze(arguments.path);
  if (!whole.ok()) return whole.status();
  const report::AnalyzedProfile& profile = **whole;
  SayNotes(arguments.path, profile.stats);
  return WriteOutput(arguments.output, arguments.format == "pprof", [&](std::ostream& out) {
    if (arguments.format == "pprof") return report::ExportPprof(profile, out);
    if (arguments.format == "csv") {
      report::ExportCsv(profile, out);
    } else if (arguments.format == "speedscope") {
      report::ExportSpeedscope(profile, out);
    } else {
      report::ExportCoz(
          profile.profile, profile.table,
          arguments.format == "coz" ? report::CozFormat::kJsonLines : report::CozFormat::kText,
          out);
    }
    return absl::OkStatus();
  });
}

struct ImportArguments {
  std::vector<std::string> paths;
  std::string output = "profile.pb";
  bool keeps_earlier = false;  // like `coz run`; who names the output knows what is there
};

absl::StatusOr<report::ImportResult> ImportFile(const std::string& path) {
  if (path == "-") return report::ImportCoz(std::cin, "standard input");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  // A folder opens and cannot be read.
  if (!file || file.peek() == std::char_traits<char>::eof()) {
    return absl::UnavailableError(absl::StrFormat(
        "cannot read %s: %s; name a profile of the original Coz: coz import profile.coz -o old.pb",
        path, errno == 0 ? "it is empty" : strerror(errno)));
  }
  return report::ImportCoz(file, path);
}

absl::Status CheckInputsAreKept(const ImportArguments& arguments) {
  for (const std::string& path : arguments.paths) {
    absl::Status status = CheckInputIsKept(path, arguments.output);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Import(const ImportArguments& arguments) {
  profile::Profile all;
  for (const std::string& path : arguments.paths) {
    absl::StatusOr<report::ImportResult> imported = ImportFile(path);
    if (!imported.ok()) return imported.status();
    if (imported->skipped_lines != 0) {
      Say(absl::StrFormat("left out what makes no sense: %s of %s, the first: %s",
                          Counted(imported->skipped_lines, "line"), path, imported->first_skipped));
    }
    all.MergeFrom(imported->profile);
  }
  absl::StatusOr<supervisor::EarlierProfiles> earlier = supervisor::EarlierProfiles();
  if (arguments.keeps_earlier) earlier = supervisor::KeepEarlier(arguments.output);
  if (!earlier.ok()) return earlier.status();
  absl::Status status = WriteOutput(arguments.output, /*is_binary=*/true, [&](std::ostream& out) {
    all.SerializeToOstream(&out);
    return absl::OkStatus();
  });
  if (!status.ok()) {
    supervisor::GiveBackEarlier(arguments.output, *earlier);
    return status;
  }
  if (arguments.keeps_earlier) supervisor::SettleEarlier(arguments.output);
  Say(absl::StrFormat("%s of %s %s in %s", Counted(all.experiment_size(), "experiment"),
                      Counted(all.session_size(), "session"),
                      all.experiment_size() == 1 ? "is" : "are", PlaceOfProfile(arguments.output)));
  if (!earlier->last.empty()) {
    Say(absl::StrFormat("the earlier %s is now %s", arguments.output, earlier->last));
  }
  return absl::OkStatus();
}

}  // namespace

void AddExportCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand("export", "write a profile in another tool's format");
  auto arguments = std::make_shared<ExportArguments>();
  command->add_option("profile", arguments->path,
                      "profile to read (default profile.pb; - is standard input)");
  command
      ->add_option(
          "--format", arguments->format,
          "what to write (default coz); pprof: for `go tool pprof`; csv: every figure as a table; "
          "jsonl: every experiment, for DuckDB and others; speedscope: flame graphs; coz: JSON "
          "lines of the original; coz-text: its older text")
      ->check(CLI::IsMember({"pprof", "csv", "jsonl", "speedscope", "coz", "coz-text"}));
  command->add_option("-o,--output", arguments->output, "file to write (default standard output)")
      ->type_name("FILE");
  SetExamples(command, {{"export --format=pprof -o profile.pb.gz", "for go tool pprof"}});
  command->callback([arguments, exit_status] {
    *exit_status = ReportUsage(CheckInputIsKept(arguments->path, arguments->output));
    if (*exit_status == 0) *exit_status = Report(Export(*arguments));
  });
}

void AddImportCommand(CLI::App& app, int* exit_status) {
  CLI::App* command = app.add_subcommand(
      "import", "make a profile of what the original Coz wrote, text or JSON lines");
  auto arguments = std::make_shared<ImportArguments>();
  command->add_option("files", arguments->paths, "profiles of the original (- is standard input)")
      ->required();
  command
      ->add_option("-o,--output", arguments->output,
                   "profile to write (default profile.pb; - is standard output)")
      ->type_name("FILE");
  SetExamples(command, {{"import profile.coz -o old.pb", "then: coz report old.pb"}});
  command->callback([command, arguments, exit_status] {
    arguments->keeps_earlier = command->count("-o") == 0;
    *exit_status = ReportUsage(CheckInputsAreKept(*arguments));
    if (*exit_status == 0) *exit_status = Report(Import(*arguments));
  });
}

}  // namespace coz
