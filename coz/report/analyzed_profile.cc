#include "coz/report/analyzed_profile.h"

#include <utility>

namespace coz {
namespace {

void Complete(const AnalysisOptions& options, AnalyzedProfile* whole) {
  whole->table = BuildExperimentTable(whole->profile);
  whole->analysis = Analyze(whole->profile, whole->table, options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<const AnalyzedProfile>> ReadAndAnalyze(
    const std::string& path, const AnalysisOptions& options) {
  absl::StatusOr<ReadResult> read = ReadProfile(path);
  if (!read.ok()) return read.status();
  auto whole = std::make_unique<AnalyzedProfile>();
  whole->profile = std::move(read->profile);
  whole->stats = std::move(read->stats);
  Complete(options, whole.get());
  return std::unique_ptr<const AnalyzedProfile>(std::move(whole));
}

std::unique_ptr<const AnalyzedProfile> AnalyzeWhole(profile::Profile profile,
                                                    const AnalysisOptions& options) {
  auto whole = std::make_unique<AnalyzedProfile>();
  whole->profile = std::move(profile);
  Complete(options, whole.get());
  return whole;
}

}  // namespace coz
