// What the HTML report shows, as JSON: the run, the lines with their plots and verdicts, what was
// set aside, the time line, source text.
//
// Shape    one JSON object, described in plot_data.cc field by field; numbers with 4 digits after
//          the point; null: unknown bound
// Units    speedups and shares are fractions; times are seconds
// Errors   none: bytes that are no UTF-8 become U+FFFD
// Threads  safe, but for the files that are read
// Signals  not async-signal-safe
// Source   docs/interpreting.md
#ifndef COZ_REPORT_PLOT_PLOT_DATA_H_
#define COZ_REPORT_PLOT_PLOT_DATA_H_

#include <string>
#include <vector>

#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_reader.h"
#include "nlohmann/json_fwd.hpp"

namespace coz::report {

struct PlotDataOptions {
  // Folders to search for source files that are not at their path.
  std::vector<std::string> source_folders;
  std::string coz_version;
};

nlohmann::json BuildPlotData(const profile::Profile& profile, const ExperimentTable& table,
                             const Analysis& analysis, const ReadStats& stats,
                             const PlotDataOptions& options);

}  // namespace coz::report

#endif  // COZ_REPORT_PLOT_PLOT_DATA_H_
