// A profile's analysis as JSON: what `coz report --json` prints, and other tools embed.
//
// Shape    one object; its fields are described in docs/report-json.md and change only with
//          `schema_version`
// Units    in the names: _ns, _s; speedups, slopes, shares and probabilities are fractions
// Errors   none: a figure that could not be computed is null; text that is no UTF-8 is shown with
//          U+FFFD when printed
// Threads  safe: pure functions
// Signals  not async-signal-safe
// Source   docs/report-json.md
#ifndef COZ_REPORT_JSON_REPORT_JSON_H_
#define COZ_REPORT_JSON_REPORT_JSON_H_

#include <string>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace coz::report {

// Raised when a field changes its meaning or goes away, not when one is added.
inline constexpr int kReportJsonSchemaVersion = 1;

// `notes` are those of ReportNotes.
nlohmann::ordered_json ReportJson(const profile::Profile& profile, const ExperimentTable& table,
                                  const Analysis& analysis, const std::vector<std::string>& notes);

// As text; `indent` -1: in one line. ASCII only, so that it can stand in any document.
std::string JsonText(const nlohmann::ordered_json& json, int indent = -1);

// Stable keys: of verdicts "faster", "slower", "no_effect", "cannot_tell" (people read VerdictWord
// instead); why a line is set aside; kinds.
const char* VerdictId(Verdict verdict);
const char* SetAsideId(SetAsideReason reason);
const char* PointKindId(profile::ProgressPointKind kind);

}  // namespace coz::report

#endif  // COZ_REPORT_JSON_REPORT_JSON_H_
