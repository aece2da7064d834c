// Prints time and memory of `coz merge`, also with --compact, with many profiles, and of
// `coz report` on the result, as a Markdown table.
//
//   ./bazelw run //bench/report:merge_profiles -- [PROFILES [EXPERIMENTS]]
//
// The default is a hundred, a thousand and ten thousand profiles with 60 experiments each, which
// are half a minute.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "coz/base/clock.h"
#include "coz/report/testing/synthetic_profile.h"

namespace {

// In the runfiles, where `bazel run` starts this program.
constexpr char kCoz[] = "tools/coz";

// Makes the experiments those of another session.
void SetSession(uint64_t id, coz::profile::Profile* profile) {
  for (auto& session : *profile->mutable_session()) session.set_id(id);
  for (auto& unit : *profile->mutable_unit()) unit.set_session(id);
  for (auto& point : *profile->mutable_progress_point()) point.set_session(id);
  for (auto& experiment : *profile->mutable_experiment()) experiment.set_session(id);
  for (auto& counts : *profile->mutable_sample_counts()) counts.set_session(id);
  for (auto& end : *profile->mutable_session_end()) end.set_session(id);
  for (auto& binary : *profile->mutable_binary()) binary.set_session(id);
}

struct Cost {
  bool ok = false;
  double seconds = 0;
  double peak_mb = 0;
};

// Runs `arguments` without their output.
Cost CostOf(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const uint64_t start_ns = coz::MonotonicNowNs();
  pid_t child = 0;
  int status = -1;
  rusage usage = {};
  Cost cost;
  if (posix_spawn(&child, pointers[0], &quiet, nullptr, pointers.data(), environ) == 0 &&
      wait4(child, &status, 0, &usage) == child) {
    cost.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    cost.seconds = static_cast<double>(coz::MonotonicNowNs() - start_ns) / 1e9;
    cost.peak_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  }
  posix_spawn_file_actions_destroy(&quiet);
  return cost;
}

coz::report_testing::SyntheticProfile MakeProfile(int experiments) {
  std::vector<coz::report_testing::SyntheticLine> lines(20);
  for (size_t i = 0; i < lines.size(); ++i) {
    lines[i].line = static_cast<uint32_t>(i + 1);
    lines[i].share = 0.04;
  }
  coz::report_testing::SyntheticProfile synthetic({}, lines);
  synthetic.AddRandomExperiments(experiments);
  synthetic.End();
  return synthetic;
}

// Prints a row of the table.
bool Measure(const std::filesystem::path& folder, int profiles, int experiments) {
  coz::report_testing::SyntheticProfile synthetic = MakeProfile(experiments);
  const std::string all = folder / "all.pb";
  std::vector<std::string> merge = {kCoz, "merge", "-o", all};
  for (int i = 0; i < profiles; ++i) {
    SetSession(static_cast<uint64_t>(i) + 1, &synthetic.profile());
    merge.push_back(folder / (std::to_string(i) + ".pb"));
    std::ofstream(merge.back(), std::ios::binary) << synthetic.profile().SerializeAsString();
  }
  const Cost merged = CostOf(merge);
  const Cost reported = CostOf({kCoz, "report", all});
  const std::string compact = folder / "compact.pb";
  merge[1] = "merge";
  merge[3] = compact;
  merge.push_back("--compact");
  const Cost compacted = CostOf(merge);
  const Cost compact_reported = CostOf({kCoz, "report", compact});
  if (!merged.ok || !reported.ok || !compacted.ok || !compact_reported.ok) return false;
  printf("| %d | %d | %.1f MB | %.2f s | %.1f MB | %.2f s | %.1f MB |\n", profiles,
         profiles * experiments, static_cast<double>(std::filesystem::file_size(all)) / 1e6,
         merged.seconds, merged.peak_mb, reported.seconds, reported.peak_mb);
  printf("| %d, compact | %d | %.1f MB | %.2f s | %.1f MB | %.2f s | %.1f MB |\n", profiles,
         profiles * experiments, static_cast<double>(std::filesystem::file_size(compact)) / 1e6,
         compacted.seconds, compacted.peak_mb, compact_reported.seconds, compact_reported.peak_mb);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int experiments = argc > 2 ? atoi(argv[2]) : 60;
  std::vector<int> sizes = {100, 1000, 10000};
  if (argc > 1) sizes = {atoi(argv[1])};
  printf(
      "| profiles | experiments | together | `coz merge` | peak memory | `coz report` | peak "
      "memory |\n");
  printf("|---|---|---|---|---|---|---|\n");
  for (const int profiles : sizes) {
    std::string folder = (std::filesystem::temp_directory_path() / "coz-merge-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return 1;
    const bool ok = Measure(folder, profiles, experiments);
    std::filesystem::remove_all(folder);
    if (!ok) {
      fprintf(stderr, "merge_profiles: coz failed with %d profiles; is there %s?\n", profiles,
              kCoz);
      return 1;
    }
  }
  return 0;
}
