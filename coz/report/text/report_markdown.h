// The report as GitHub-flavoured Markdown, for a pull request or an issue.
//
// Shape    a table for each progress point, in the order of the report; the verdict in words in its
//          last column
// Units    as the report's
// Errors   none
// Threads  safe: a pure function
// Signals  not async-signal-safe
// Source   GitHub Flavored Markdown, "Tables"
#ifndef COZ_REPORT_TEXT_REPORT_MARKDOWN_H_
#define COZ_REPORT_TEXT_REPORT_MARKDOWN_H_

#include <string>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_reader.h"

namespace coz::report {

// `max_lines`: for each progress point; 0: all.
std::string RenderMarkdown(const profile::Profile& profile, const ExperimentTable& table,
                           const Analysis& analysis, const ReadStats& stats, int max_lines);

}  // namespace coz::report

#endif  // COZ_REPORT_TEXT_REPORT_MARKDOWN_H_
