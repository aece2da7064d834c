#include "coz/report/report.h"

#include <sys/ioctl.h>

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/report/analysis.h"
#include "coz/report/experiment_table.h"
#include "coz/report/export_coz.h"
#include "coz/report/profile_reader.h"
#include "coz/report/report_json.h"
#include "coz/report/report_notes.h"
#include "coz/report/report_text.h"
#include "nlohmann/json.hpp"

namespace coz {
namespace {

absl::Status Finish(std::ostream& out) {
  out.flush();
  if (out) return absl::OkStatus();
  return absl::UnavailableError(
      "cannot write the output: the disk is full or the reader has gone; write to another file "
      "with `> FILE`");
}

}  // namespace

absl::Status RunReport(const ReportOptions& options, std::ostream& out) {
  const absl::StatusOr<ReadResult> read = ReadProfile(options.path);
  if (!read.ok()) return read.status();
  const ExperimentTable table = BuildExperimentTable(read->profile);
  const Analysis analysis = Analyze(read->profile, table, options.analysis);
  if (options.format == ReportFormat::kJson) {
    const std::vector<std::string> notes = ReportNotes(read->profile, table, analysis, read->stats);
    out << JsonText(ReportJson(read->profile, table, analysis, notes), 1) << "\n";
    return Finish(out);
  }
  out << (options.header ? RenderHeader(read->profile, table, analysis, read->stats)
                         : RenderNotes(read->profile, table, analysis, read->stats));
  out << RenderPoints(read->profile, table, analysis, options.text);
  return Finish(out);
}

absl::Status RunExport(const ExportOptions& options, std::ostream& out) {
  const absl::StatusOr<ReadResult> read = ReadProfile(options.path);
  if (!read.ok()) return read.status();
  ExportCoz(read->profile, options.format, out);
  return Finish(out);
}

int TerminalWidth(int fd) {
  winsize size = {};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return size.ws_col;
}

}  // namespace coz
