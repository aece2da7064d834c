// Writes the profiles of a fleet whose lines have a known answer: FOLDER/00000.pb and so on.
//
//   ./bazelw run //bench/fleet:make_profiles -- FOLDER [PROFILES [EXPERIMENTS [HOSTS]]]
//
// The default is 10,000 profiles with 60 experiments each, of 1,000 hosts of different speed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "coz/report/testing/synthetic_profile.h"

namespace {

using coz::report_testing::SyntheticLine;
using coz::report_testing::SyntheticOptions;
using coz::report_testing::SyntheticProfile;

std::vector<SyntheticLine> Lines() {
  return {{"/src/server/decode.cc", 12, "Decode()", 0.5, 0.4, {}},
          {"/src/server/reply.cc", 34, "Reply()", 0.3, 0.1, {}},
          {"/src/server/log.cc", 56, "Log()", 0.15, 0, {}}};
}

bool Write(const std::filesystem::path& folder, int index, int experiments, int hosts) {
  const int host = index % hosts;
  SyntheticOptions options;
  options.session = static_cast<uint64_t>(index) + 1;
  options.seed = options.session;
  options.ns_per_visit *= 1 + 0.1 * (host % 7);
  SyntheticProfile made(options, Lines());
  made.profile().mutable_session(0)->mutable_machine()->set_host(absl::StrFormat("host%04d", host));
  made.AddRandomExperiments(experiments);
  made.End();
  const std::filesystem::path path = folder / absl::StrFormat("%05d.pb", index);
  std::ofstream file(path, std::ios::binary);
  file << made.profile().SerializeAsString();
  file.close();
  if (!file) fprintf(stderr, "cannot write %s: is the disk full?\n", path.c_str());
  return static_cast<bool>(file);
}

int NumberOr(int count, char** words, int index, int otherwise) {
  return index < count ? atoi(words[index]) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const int profiles = NumberOr(argc, argv, 2, 10'000);
  const int experiments = NumberOr(argc, argv, 3, 60);
  const int hosts = NumberOr(argc, argv, 4, 1'000);
  if (argc < 2 || profiles <= 0 || experiments <= 0 || hosts <= 0) {
    fprintf(stderr, "write: make_profiles FOLDER [PROFILES [EXPERIMENTS [HOSTS]]]\n");
    return 2;
  }
  // `bazel run` starts this program in its runfiles; relative folders are those of the caller.
  const char* const caller = getenv("BUILD_WORKING_DIRECTORY");
  const auto folder = std::filesystem::path(caller == nullptr ? "" : caller) / argv[1];
  std::filesystem::create_directories(folder);
  for (int i = 0; i < profiles; ++i) {
    if (!Write(folder, i, experiments, hosts)) return 1;
  }
  printf("%d profiles with %d experiments each are in %s\n", profiles, experiments, folder.c_str());
  return 0;
}
