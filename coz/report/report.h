// `coz report` without its command line: a profile's path in, text out.
//
// Shape    text on a stream
// Units    none
// Errors   those of ReadProfile and of FailCondition; ABORTED when a condition of `fail_if` holds;
//          UNAVAILABLE when the output cannot be written
// Threads  safe
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_REPORT_REPORT_H_
#define COZ_REPORT_REPORT_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/group_table.h"
#include "coz/report/text/report_text.h"
#include "coz/report/wording/typed_name.h"

namespace coz::report {

enum class ReportFormat { kText, kJson, kMarkdown };

struct ReportOptions {
  ReportFormat format = ReportFormat::kText;
  std::string path = "profile.pb";  // "-": standard input
  bool threads = false;             // the table of threads instead
  bool apis = false;                // the table of calls into libraries instead
  std::optional<GroupBy> by;        // the table of hosts, binaries or kernels instead
  AnalysisOptions analysis;
  TextOptions text;
  // Command, machine, counts, notes. False at the end of `coz run`, where the user has just seen
  // them.
  bool header = true;
  // As FailCondition::Parse takes them.
  std::vector<std::string> fail_if;
  Suggest suggest;
};

// INVALID_ARGUMENT for a condition of `fail_if` that is none.
absl::Status CheckConditions(const ReportOptions& options);

// `measured` is whether there was something to show. Where no experiment was, no condition holds.
absl::Status RunReport(const ReportOptions& options, std::ostream& out, bool* measured = nullptr);

// Where the descriptor is a terminal, makes the text as wide as it, with prose broken at its edge.
void FitTerminal(int fd, TextOptions* text);

// The text with its prose broken, where the options ask for it.
std::string Fitted(const std::string& text, const TextOptions& options);

}  // namespace coz::report

#endif  // COZ_REPORT_REPORT_H_
