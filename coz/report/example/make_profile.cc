// Writes the profile of a program whose answer is known: make_profile FILE
#include <cstddef>
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coz/report/format/profile_writer.h"
#include "coz/report/testing/synthetic_profile.h"

namespace coz::report {
namespace {

absl::Status Write(const std::string& path) {
  report_testing::SyntheticOptions options;
  options.experiment_ns = 5'000'000'000;
  options.noise = 0;
  report_testing::SyntheticProfile made(options,
                                        {{"/src/app/parse.cc", 41, "Parse()", 0.5, 0.5, {}},
                                         {"/src/app/sort.cc", 7, "Sort()", 0.3, 0.2, {}},
                                         {"/src/app/rare.cc", 9, "Rare()", 0.1, 0, {}}});
  for (size_t line = 0; line < 2; ++line) {
    for (int i = 0; i < 10; ++i) made.AddExperiment(line, 0.2 * (i % 5 + 1));
    for (int i = 0; i < 4; ++i) made.AddExperiment(line, 0);
  }
  made.AddExperiment(2, 0.5);
  made.End();
  absl::StatusOr<ProfileWriter> writer = ProfileWriter::Open(path, ProfileOpenMode::kTruncate);
  return writer.ok() ? writer->Append(made.profile()) : writer.status();
}

}  // namespace
}  // namespace coz::report

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const absl::Status status = coz::report::Write(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
