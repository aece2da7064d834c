// A profile file with all that is computed from it: what exports and comparisons start from.
//
// Shape    one object. Of a file, the profile keeps only what the table does not hold; the table
//          needs a third of the memory
// Units    as in its parts
// Errors   those of ReadProfile
// Threads  compatible
// Signals  not async-signal-safe
// Source   none
#ifndef COZ_REPORT_ANALYSIS_ANALYZED_PROFILE_H_
#define COZ_REPORT_ANALYSIS_ANALYZED_PROFILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coz/report/analysis/analysis.h"
#include "coz/report/analysis/experiment_table.h"
#include "coz/report/format/profile.pb.h"
#include "coz/report/format/profile_reader.h"

namespace coz::report {

struct AnalyzedProfile {
  profile::Profile profile;
  ReadStats stats;
  ExperimentTable table;
  Analysis analysis;
};

// "-" is standard input.
absl::StatusOr<std::unique_ptr<AnalyzedProfile>> ReadAndAnalyze(
    const std::string& path, const AnalysisOptions& options = {});

// The same from a profile in memory.
std::unique_ptr<const AnalyzedProfile> AnalyzeWhole(profile::Profile profile,
                                                    const AnalysisOptions& options = {});

}  // namespace coz::report

#endif  // COZ_REPORT_ANALYSIS_ANALYZED_PROFILE_H_
