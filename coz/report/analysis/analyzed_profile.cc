#include "coz/report/analysis/analyzed_profile.h"

#include <utility>

#include "absl/status/status.h"

namespace coz::report {
namespace {

// The table holds all that is used of the others.
bool IsKept(const profile::Profile& record) {
  return record.experiment().empty() && record.unit().empty() && record.progress_point().empty() &&
         record.sample_counts().empty() && record.bare_interval().empty() &&
         record.control().empty();
}

}  // namespace

absl::StatusOr<std::unique_ptr<AnalyzedProfile>> ReadAndAnalyze(const std::string& path,
                                                                const AnalysisOptions& options) {
  auto whole = std::make_unique<AnalyzedProfile>();
  ExperimentTableBuilder table;
  const absl::Status status =
      ReadRecordsOf(path, &whole->stats, [&](const profile::Profile& record) {
        table.Add(record);
        if (IsKept(record)) whole->profile.MergeFrom(record);
      });
  if (!status.ok()) return status;
  whole->table = table.Finish();
  whole->analysis = Analyze(whole->profile, whole->table, options);
  return whole;
}

std::unique_ptr<const AnalyzedProfile> AnalyzeWhole(profile::Profile profile,
                                                    const AnalysisOptions& options) {
  auto whole = std::make_unique<AnalyzedProfile>();
  whole->profile = std::move(profile);
  whole->table = BuildExperimentTable(whole->profile);
  whole->analysis = Analyze(whole->profile, whole->table, options);
  return whole;
}

}  // namespace coz::report
