// `coz report` without its command line: a profile's path in, text out.
//
// Shape    text on a stream
// Units    none
// Errors   those of ReadProfile and of Selector; ABORTED when a condition of `fail_if` holds; UNAVAILABLE when the output cannot be written
// Threads  safe
// Signals  not async-signal-safe
// Source   issue 2, item 7
#ifndef COZ_REPORT_REPORT_H_
#define COZ_REPORT_REPORT_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/condition/fail_condition.h"
#include "coz/report/text/report_text.h"

namespace coz::report {

enum class ReportFormat { kText, kJson };

struct ReportOptions {
  ReportFormat format = ReportFormat::kText;
  std::string path = "profile.pb";  // "-": standard input
  AnalysisOptions analysis;
  TextOptions text;
  // Command, machine, counts, notes; false at the end of `coz run`, where the user has just seen them.
  bool header = true;
  // Conditions of selector.h.
  std::vector<std::string> fail_if;
  Suggest suggest;
};

absl::Status RunReport(const ReportOptions& options, std::ostream& out);

// Where the descriptor is a terminal: text as wide as it is, with prose broken at its edge.
void FitTerminal(int fd, TextOptions* text);

}  // namespace coz::report

#endif  // COZ_REPORT_REPORT_H_
