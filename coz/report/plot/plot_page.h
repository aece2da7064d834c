// The HTML report: one file with everything in it, which opens from disk and loads nothing.
//
// Shape    HTML with a content security policy that allows just its own script and style; the data
//          lie in it as JSON, in which no character can end or begin a tag
// Units    none
// Errors   those of ReadProfile; what WritePlotFile could not write, and why
// Threads  safe
// Signals  none
// Source   docs/interpreting.md
#ifndef COZ_REPORT_PLOT_PLOT_PAGE_H_
#define COZ_REPORT_PLOT_PLOT_PAGE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/plot/plot_data.h"

namespace coz::report {

struct PlotOptions {
  std::string path = "profile.pb";  // "-": standard input
  AnalysisOptions analysis;
  PlotDataOptions data;
};

// The page with the data of a profile.
absl::StatusOr<std::string> MakePlotPage(const PlotOptions& options);

// The page around any data.
std::string PlotPage(const nlohmann::json& data);

// Replaces the file in one step, so that a page that is open never sees half of one; "-" is
// standard output.
absl::Status WritePlotFile(const std::string& path, const std::string& page);

}  // namespace coz::report

#endif  // COZ_REPORT_PLOT_PLOT_PAGE_H_
