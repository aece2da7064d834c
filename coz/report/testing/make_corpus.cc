// Writes the seeds of profile_reader_fuzzer: make_corpus FOLDER
#include <cstdint>
#include <fstream>
#include <string>

#include "coz/report/format/profile.pb.h"
#include "coz/report/testing/synthetic_profile.h"

namespace coz::report_testing {
namespace {

// Seconds of a small program, so that a fuzzer gets through many variants.
SyntheticProfile Make(profile::ProgressPointKind kind, int experiments) {
  SyntheticOptions options;
  options.kind = kind;
  SyntheticProfile made(options,
                        {{"/a.cc", 5, "A<int>()", 0.5, 0.5, {}}, {"/b.cc", 6, "B()", 0.3, 0, {}}});
  for (int i = 0; i < experiments; ++i) {
    made.AddExperiment(static_cast<size_t>(i % 5 == 4), i % 4 == 0 ? 0 : 0.05 * (i % 20 + 1));
  }
  made.End();
  return made;
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

int Main(const std::string& folder) {
  SyntheticProfile throughput = Make(profile::PROGRESS_POINT_KIND_THROUGHPUT, 16);
  const std::string bytes = throughput.profile().SerializeAsString();
  Write(folder + "/throughput.pb", bytes);
  Write(folder + "/cut.pb", bytes.substr(0, bytes.size() * 2 / 3));
  Write(folder + "/merged_with_itself.pb", bytes + bytes);
  Write(folder + "/latency.pb",
        Make(profile::PROGRESS_POINT_KIND_LATENCY, 14).profile().SerializeAsString());
  Write(folder + "/end_to_end.pb",
        Make(profile::PROGRESS_POINT_KIND_END_TO_END, 1).profile().SerializeAsString());
  Write(folder + "/no_experiment.pb",
        Make(profile::PROGRESS_POINT_KIND_THROUGHPUT, 0).profile().SerializeAsString());
  profile::Experiment* first = throughput.profile().mutable_experiment(0);
  first->mutable_validity()->add_taint()->set_reason(profile::Taint::SUSPENDED);
  first->set_effective_duration_ns(0);
  profile::SampleCounts* counts = throughput.profile().add_sample_counts();
  counts->set_session(throughput.options().session);
  counts->add_unit_id(1);
  counts->add_unit_samples(7);
  profile::Binary* binary = throughput.profile().add_binary();
  binary->set_session(throughput.options().session);
  binary->set_path("/bin/app");
  binary->add_debug_info_skipped("no DWARF");
  Write(folder + "/tainted.pb", throughput.profile().SerializeAsString());
  return 0;
}

}  // namespace
}  // namespace coz::report_testing

int main(int argc, char** argv) { return argc == 2 ? coz::report_testing::Main(argv[1]) : 2; }
