// Merges many profiles, and prints how long that took and how much memory.
//
//   merge_profiles [PROFILES [EXPERIMENTS]]      (default 10000 profiles of 60 experiments, half a minute each)
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "coz/base/clock.h"
#include "coz/report/merge.h"
#include "coz/report/testing/synthetic_profile.h"

namespace {

// The same experiments under another session's id.
void SetSession(uint64_t id, coz::profile::Profile* profile) {
  for (auto& session : *profile->mutable_session()) session.set_id(id);
  for (auto& unit : *profile->mutable_unit()) unit.set_session(id);
  for (auto& point : *profile->mutable_progress_point()) point.set_session(id);
  for (auto& experiment : *profile->mutable_experiment()) experiment.set_session(id);
  for (auto& counts : *profile->mutable_sample_counts()) counts.set_session(id);
  for (auto& end : *profile->mutable_session_end()) end.set_session(id);
  for (auto& binary : *profile->mutable_binary()) binary.set_session(id);
}

double PeakMegabytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  const int profiles = argc > 1 ? atoi(argv[1]) : 10000;
  const int experiments = argc > 2 ? atoi(argv[2]) : 60;
  std::vector<coz::report_testing::SyntheticLine> lines(20);
  for (size_t i = 0; i < lines.size(); ++i) {
    lines[i].line = static_cast<uint32_t>(i + 1);
    lines[i].share = 0.04;
  }
  coz::report_testing::SyntheticProfile synthetic({}, lines);
  synthetic.AddRandomExperiments(experiments);
  synthetic.End();

  std::string name = (std::filesystem::temp_directory_path() / "coz-merge-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return 1;
  const std::filesystem::path folder = name;
  coz::MergeOptions options;
  for (int i = 0; i < profiles; ++i) {
    SetSession(static_cast<uint64_t>(i) + 1, &synthetic.profile());
    options.inputs.push_back((folder / (std::to_string(i) + ".pb")).string());
    std::ofstream(options.inputs.back(), std::ios::binary)
        << synthetic.profile().SerializeAsString();
  }
  options.output = (folder / "all.pb").string();

  const double peak_before_mb = PeakMegabytes();
  const uint64_t start_ns = coz::MonotonicNowNs();
  const auto result = coz::MergeProfiles(options);
  const double seconds = static_cast<double>(coz::MonotonicNowNs() - start_ns) / 1e9;
  const double peak_mb = PeakMegabytes();
  std::filesystem::remove_all(folder);
  if (!result.ok()) {
    fprintf(stderr, "%s\n", std::string(result.status().message()).c_str());
    return 1;
  }
  printf(
      "%d profiles, %d experiments, %.0f MB: %.1f s; peak memory %.1f MB before, %.1f MB after\n",
      static_cast<int>(result->sessions), static_cast<int>(result->experiments),
      static_cast<double>(result->bytes) / 1e6, seconds, peak_before_mb, peak_mb);
  return 0;
}
